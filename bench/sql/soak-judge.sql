-- For bench/soak: what must hold in the end.  Students that were loaded by plain SQL have no changes.
SET dms.cache_reads = off;
SELECT 'p99 of the lag is at most the limit', percentile_cont(0.99) WITHIN GROUP (ORDER BY lag) <= :limit FROM bench.soaked;
SELECT 'one worker followed all the time', count(DISTINCT worker) = 1 AND min(worker) > 0 FROM bench.minutes;
SELECT 'its memory does not grow', max(memory) - max(memory) FILTER (WHERE part <= 1) <= 2048
FROM (SELECT memory, ntile(10) OVER (ORDER BY n) AS part FROM bench.minutes) AS m;
SELECT 'the cache has all documents', count(*) = 0 FROM dms.Document AS d FULL JOIN dms.DocumentCache AS c USING (DocumentId)
WHERE c.DocumentJson::text IS DISTINCT FROM dms.get_document(d.DocumentUuid)::text;
SELECT 'the audit of the cache finds nothing', count(*) = 0 FROM dms.audit() WHERE kind ~ '^cache' OR kind IN ('change_surplus', 'change_ahead');
