-- Resolve, read what is stored, find it equal.
BEGIN;
@include client/resolve.part@
@include client/read.part@
END;
