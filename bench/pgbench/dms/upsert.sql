SELECT dms.upsert_document('Ed-Fi', 'StudentSchoolAssociation', (
@include body.part@
)::json);
