-- A document that no transaction wrote before: each client of each run (base)
-- has numbers of its own, and 20000 numbers in a row name each student once.
\set n :n + 1
\set number :base + :client_id * 1000000 + :n
\set student 1 + (:number * 7919) % :students
\set school 1 + :student % 200
\set grade 1 + :student % 92
\set plan 1 + :student % 99
\set day 1 + :number / :students
\set exit 181
