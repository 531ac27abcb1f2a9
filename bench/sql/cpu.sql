-- CPU time of this session in ms, as the system counts it.
CREATE SCHEMA IF NOT EXISTS bench;
CREATE FUNCTION bench.cpu() RETURNS numeric
LANGUAGE sql VOLATILE
RETURN round(split_part(pg_read_file('/proc/self/schedstat'), ' ', 1)::numeric / 1000000, 3);
