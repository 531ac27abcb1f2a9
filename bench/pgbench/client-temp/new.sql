-- As without the temporary table, but edges are staged and compared in SQL.
@include client-temp/begin.part@
@include client/resolve.part@
@include client/insert.part@
@include client-temp/stage.part@
END;
