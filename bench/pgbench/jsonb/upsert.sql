-- One statement for all three; one that changes nothing takes no lock.  OFFSET 0
-- has the body made once.
INSERT INTO @store@.Document AS d (Id, Body)
SELECT u.Id, u.Body
FROM (SELECT @store@.id(:student::int, :school::int, DATE '2000-01-01' + :day::int), (
@include body.part@
)::jsonb OFFSET 0) AS u (Id, Body)
WHERE NOT EXISTS (SELECT FROM @store@.Document AS o WHERE o.Id = u.Id AND o.Body = u.Body)
ON CONFLICT (Id) DO UPDATE SET Body = EXCLUDED.Body, Etag = d.Etag + 1, LastModifiedAt = now()
RETURNING Etag;
