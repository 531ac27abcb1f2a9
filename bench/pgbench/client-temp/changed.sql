-- As without the temporary table, but edges are staged and compared in SQL.
@include client-temp/begin.part@
@include client/resolve.part@
@include client/read.part@
@include client/update.part@
\set id :own_id
@include client-temp/stage.part@
@include client/bump.part@
END;
