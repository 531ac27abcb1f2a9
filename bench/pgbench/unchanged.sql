-- A document that is stored already (one half of them), sent again as it is.
\set student random(1, :students / 2)
\set school 1 + :student % 200
\set grade 1 + :student % 92
\set plan 1 + :student % 99
\set day 0
\set exit 181
