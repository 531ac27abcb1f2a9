-- A stored document, of the other half of them, with another date.  There are so
-- many dates to choose from that the stored one is next to never drawn.
\set student random(:students / 2 + 1, :students)
\set school 1 + :student % 200
\set grade 1 + :student % 92
\set plan 1 + :student % 99
\set day 0
\set exit random(200, 2900000)
