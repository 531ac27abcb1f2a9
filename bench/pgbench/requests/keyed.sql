SELECT bench.post(n, 'key-' || n) FROM nextval('bench.student') AS n;
