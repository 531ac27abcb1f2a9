-- The same as without the temporary table: edges need no look.
@include client/unchanged.sql@
