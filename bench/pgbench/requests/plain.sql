SELECT bench.post(nextval('bench.student'));
