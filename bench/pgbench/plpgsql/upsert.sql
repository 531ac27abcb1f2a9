SELECT @store@.upsert((
@include body.part@
)::json);
