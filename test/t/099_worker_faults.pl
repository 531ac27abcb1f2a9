# What must not keep the background worker from filling the cache for good: a document among
# many that fails, processes that are killed, an extension that is dropped or updated meanwhile, a
# disk that is full.  At the end it fills the cache while sessions write.
use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

use Dms::Session;

my $schema = slurp_file("$FindBin::RealBin/../schemas/isolation.json");
$schema =~ s/'/''/g;
my $many = $ENV{DMS_LONG} ? 10_000 : 1_000;

# What differs between the cache and what is read without it.
my $DIFFERENT = q{
	SET dms.cache_reads = off;
	SELECT count(*) FROM dms.Document AS d FULL JOIN dms.DocumentCache AS c USING (DocumentId)
	WHERE c.DocumentJson::text IS DISTINCT FROM dms.get_document(d.DocumentUuid)::text};
my $WORKER = q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'dms worker'};
my $WAIT = q{SELECT dms.wait_until_projected('3 minutes')};

# A batch takes a while, or waits until hold() lets it go on.
my $SLOW = q{
	CREATE OR REPLACE FUNCTION public.slow() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET lock_timeout = 0 AS $$
	BEGIN PERFORM %s; RETURN NULL; END $$;
	CREATE TRIGGER slow AFTER INSERT OR UPDATE ON dms.DocumentCache FOR EACH STATEMENT EXECUTE FUNCTION public.slow()};
my $HELD = q{SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'dms worker' AND wait_event = 'advisory'};

my $node = start('worker_faults');
poisoned();
killed();
dropped($node, 1);
updated();
full();
soak();
$node->stop;

# Without the lock, nobody waits for the batch.
SKIP:
{
	skip 'there is no test build', 3 unless $ENV{DMS_FAULTS_INSTALL};
	my $faults = start('worker_without_lock', install_path => $ENV{DMS_FAULTS_INSTALL});
	$faults->append_conf('postgresql.conf', "dms.skip = 'extension_lock'");
	$faults->restart;
	dropped($faults, 0);
	$faults->stop;
}
done_testing();

# A server with a store, whose cache a worker fills.
sub start
{
	my ($name, @options) = @_;
	my $server = PostgreSQL::Test::Cluster->new($name, @options);

	$server->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
	$server->append_conf('postgresql.conf', q{
		shared_preload_libraries = 'dms'
		fsync = off
		restart_after_crash = on
		dms.worker_naptime = 1s
		dms.worker_linger = 500ms
		dms.projector_batch = 50
		log_statement = none
	});
	$server->start;
	$server->safe_psql('postgres', 'CREATE DATABASE store');
	$server->safe_psql('store', "SET client_min_messages = warning; CREATE EXTENSION dms; SELECT dms.deploy_schema('$schema'::json)");
	$server->safe_psql('store', q{
		SET client_min_messages = warning;
		SELECT dms.upsert_document('isolation', 'sessions', json_build_object('sessionName', n)) FROM unnest(ARRAY['S']) AS n});
	offerings($server, 'S', 1, $many);
	return $server;
}

# Posts offerings of a session with these numbers.
sub offerings
{
	my ($server, $session, $first, $last) = @_;

	$server->safe_psql('store', qq{
		SELECT count(dms.upsert_document('isolation', 'offerings', json_build_object('code', 'o' || n,
			'sessionReference', json_build_object('sessionName', '$session'))))
		FROM generate_series($first, $last) AS n});
	return;
}

# One document among many cannot be projected, until what was wrong is mended.
sub poisoned
{
	$node->safe_psql('store', q{
		SET client_min_messages = warning;
		ALTER TABLE dms.DocumentCache ADD CONSTRAINT poison CHECK (DocumentJson ->> 'code' <> 'o500');
		SELECT dms.set_cache_mode('eventual')});
	is($node->safe_psql('store', $WAIT), 't', 'a document that cannot be projected ends no pass');
	is($node->safe_psql('store', $DIFFERENT), 1, "all other documents of $many are projected");
	is($node->safe_psql('store', 'SELECT count(*), min(SqlState) FROM dms.ProjectionFailure'), '1|23514', 'it is recorded');
	$node->safe_psql('store', 'UPDATE dms.ProjectionFailure SET NextAttemptAt = now()');
	ok($node->poll_query_until('store', 'SELECT min(Attempts) > 1 FROM dms.ProjectionFailure'), 'it is tried again');
	$node->safe_psql('store', q{
		ALTER TABLE dms.DocumentCache DROP CONSTRAINT poison;
		UPDATE dms.ProjectionFailure SET NextAttemptAt = now()});
	ok($node->poll_query_until('store', 'SELECT count(*) = 0 FROM dms.ProjectionFailure'), 'and forgotten when what was wrong is mended');
	is($node->safe_psql('store', $DIFFERENT), 0, 'then the cache has all documents');
	return;
}

# A process that is killed ends all others, and the server starts again by itself.  A rebuild
# goes on where it was, with what has committed.
sub killed
{
	my $documents = $many + 1;

	$node->safe_psql('store', sprintf($SLOW, 'pg_sleep(0.02)'));
	$node->safe_psql('store', 'SELECT dms.rebuild_cache()');
	foreach my $type ('dms worker', 'dms worker', 'dms worker', 'dms launcher')
	{
		my $done  = $node->safe_psql('store', 'SELECT Documents FROM dms.CacheRebuild');
		my $begin = -s $node->logfile;
		my $pid;

		$node->poll_query_until('store', "SELECT FinishedAt IS NOT NULL OR Documents > $done FROM dms.CacheRebuild");
		for (my $tries = 0; !$pid && $tries < 500; $tries++)
		{
			$pid = $node->safe_psql('postgres', "SELECT min(pid) FROM pg_stat_activity WHERE backend_type = '$type'");
			usleep(20_000) unless $pid;
		}
		BAIL_OUT("there is no $type") unless $pid;
		# ./check looks for crashes that no test has caused.
		append_to_file($node->logfile =~ s/\.log$/.killed/r, "(PID $pid) was terminated by signal 9\n");
		kill KILL => $pid;
		ok($node->wait_for_log(qr/database system is ready to accept connections/, $begin), "the server recovers after a $type was killed");
		$node->poll_query_until('postgres', 'SELECT true');
	}
	is($node->safe_psql('store', $WAIT), 't', 'the rebuild goes on');
	is($node->safe_psql('store', 'SELECT Documents FROM dms.CacheRebuild'), $documents, 'each document was counted once');
	is($node->safe_psql('store', $DIFFERENT), 0, 'the cache has all documents');
	$node->safe_psql('store', 'DROP TRIGGER slow ON dms.DocumentCache');
	return;
}

# Begins a rebuild whose first batch waits for a session, which is returned.
sub hold
{
	my ($server) = @_;
	my $holder = Dms::Session->new($server, 'store');

	$holder->ask("SELECT pg_advisory_lock(1);\n");
	$server->safe_psql('store', sprintf($SLOW, 'pg_advisory_xact_lock_shared(1)'));
	$server->safe_psql('store', 'SELECT dms.rebuild_cache()');
	$server->poll_query_until('store', $HELD);
	return $holder;
}

# Whoever drops the extension waits for the batch, and for no more.
sub dropped
{
	my ($server, $waits) = @_;
	my $session = Dms::Session->new($server, 'store');

	$server->safe_psql('store', q{SET client_min_messages = warning; SELECT dms.set_cache_mode('eventual')});
	$server->safe_psql('store', $WAIT);
	my $holder = hold($server);
	$session->say("DROP EXTENSION dms;\n");
	$session->expect;
	if ($waits)
	{
		ok($server->poll_query_until('store', q{SELECT count(*) = 1 FROM pg_stat_activity WHERE query LIKE 'DROP EXTENSION%' AND wait_event_type = 'Lock'}),
			'who drops the extension waits for the batch');
		$holder->finish;
	}
	usleep(20_000) until $session->look;
	unlike($session->answer, qr/ERROR/, 'and the extension is dropped');
	if (!$waits)
	{
		is($server->safe_psql('store', $HELD), 't', 'without the lock, the batch is still at work then');
		$server->safe_psql('store', "SELECT pg_terminate_backend(pid) FROM ($WORKER) AS w");
		$_->finish foreach $session, $holder;
		return;
	}
	is($server->safe_psql('store', 'SELECT Documents FROM dms.CacheRebuild'), 50, 'the batch was committed');
	ok($server->poll_query_until('postgres', qq{SELECT count(*) = 0 FROM ($WORKER) AS w}), 'the worker leaves');
	$server->safe_psql('store', 'DROP TRIGGER slow ON dms.DocumentCache; CREATE EXTENSION dms');
	is($server->safe_psql('store', $WAIT),      't', 'created again, it goes on');
	is($server->safe_psql('store', $DIFFERENT), 0,   'and the cache has all documents');
	$session->finish;
	return;
}

# The extension is updated while a rebuild is under way.
sub updated
{
  SKIP:
	{
		my $file = `pg_config --sharedir`;
		chomp $file;
		$file .= '/extension/dms--1.0--updated.sql';
		skip "cannot write $file", 3 unless open my $script, '>', $file;
		print $script "COMMENT ON FUNCTION dms.uuid_v7() IS 'updated';\n";
		close $script;
		my $holder = hold($node);
		$node->safe_psql('store', q{ALTER EXTENSION dms UPDATE TO 'updated'});
		is($node->safe_psql('store', 'SELECT FinishedAt IS NULL FROM dms.CacheRebuild'), 't', 'the extension is updated in a rebuild');
		$holder->finish;
		$node->safe_psql('store', 'DROP TRIGGER slow ON dms.DocumentCache');
		is($node->safe_psql('store', $WAIT), 't', 'which goes on');
		is($node->safe_psql('store', $DIFFERENT), 0, 'and the cache has all documents');
		unlink $file;
	}
	return;
}

# The disk of the cache is full: writers do not notice, the worker tries again later each time.
sub full
{
  SKIP:
	{
		my $disk = $ENV{DMS_SMALL_DISK};
		skip 'no small disk could be mounted', 6 unless $disk;
		mkdir "$disk/small" or die "cannot create $disk/small: $!";
		$node->safe_psql('postgres', "CREATE TABLESPACE small LOCATION '$disk/small'");
		$node->safe_psql('store', 'ALTER TABLE dms.DocumentCache SET TABLESPACE small');
		open my $filler, '>', "$disk/filler" or die "cannot fill the disk: $!";
		1 while defined syswrite $filler, "\0" x 65536;
		close $filler;
		offerings($node, 'S', $many + 1, 2 * $many);
		pass('writers go on when the disk of the cache is full');
		ok($node->poll_query_until('store', q{SELECT failures > 1 FROM dms.worker_status() WHERE database = 'store'}), 'the worker fails');
		like($node->safe_psql('store', q{SELECT last_error FROM dms.worker_status() WHERE database = 'store'}), qr/^53100: /, 'and says why');
		is($node->safe_psql('store', 'SELECT count(*) FROM dms.ProjectionFailure'), 0, 'no document is to blame');
		unlink "$disk/filler";
		ok($node->poll_query_until('store', 'SELECT (SELECT count(*) FROM dms.DocumentCache) = (SELECT count(*) FROM dms.Document)'),
			'when there is room again, the worker goes on');
		is($node->safe_psql('store', $DIFFERENT), 0, 'and the cache has all documents');
		$node->safe_psql('store', 'ALTER TABLE dms.DocumentCache SET TABLESPACE pg_default');
		$node->safe_psql('postgres', 'DROP TABLESPACE small');
	}
	return;
}

# The memory that a process has for itself, in kB.
sub memory
{
	my ($pid) = @_;

	return slurp_file("/proc/$pid/status") =~ /^RssAnon:\s+(\d+)/m ? $1 : 0;
}

# Sessions write, and the worker follows.  A trigger notes how long after the write a row was
# there.  That is printed, because it depends on the machine.
sub soak
{
	my $seconds = $ENV{DMS_LONG} ? 60 : 6;
	my ($early, $late, $pid);

	$node->safe_psql('store', q{
		CREATE TABLE public.lag (lag interval);
		CREATE FUNCTION public.lagging() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
		BEGIN INSERT INTO public.lag VALUES (clock_timestamp() - NEW.LastModifiedAt); RETURN NULL; END $$;
		CREATE TRIGGER lagging AFTER INSERT OR UPDATE ON dms.DocumentCache FOR EACH ROW EXECUTE FUNCTION public.lagging();
		CREATE PROCEDURE public.work(seconds int) LANGUAGE plpgsql AS $$
		DECLARE
			until timestamptz := clock_timestamp() + make_interval(secs => seconds);
			n int := 0;
		BEGIN
			WHILE clock_timestamp() < until LOOP
				n := n + 1;
				PERFORM dms.upsert_document('isolation', 'offerings', json_build_object('code', 'o' || 1 + (n * 7919) % 900,
					'title', 'title ' || n, 'sessionReference', json_build_object('sessionName', 'S')));
				COMMIT;
				PERFORM pg_sleep(0.004);
			END LOOP;
		END $$});
	my $session = Dms::Session->new($node, 'store');
	my $end     = time() + $seconds;
	$session->say("CALL public.work($seconds);\n");
	$session->expect;
	while (!$session->look)
	{
		usleep(200_000);
		$pid = $node->safe_psql('store', $WORKER) || next;
		next unless -r "/proc/$pid/status";
		$early = memory($pid) if !$early && time() > $end - 2 * $seconds / 3;
		$late  = memory($pid) || $late;
	}
	is($node->safe_psql('store', $WAIT),      't', 'the worker has followed the sessions');
	is($node->safe_psql('store', $DIFFERENT), 0,   'the cache has all documents');
	my ($rows, $median, $high) = split /\|/, $node->safe_psql('store', q{
		SELECT count(*), round(extract(epoch FROM percentile_cont(0.5) WITHIN GROUP (ORDER BY lag)) * 1000),
			round(extract(epoch FROM percentile_cont(0.99) WITHIN GROUP (ORDER BY lag)) * 1000) FROM public.lag});
	note("$rows rows, lag: median $median ms, p99 $high ms; memory of the worker: $early kB, then $late kB");
  SKIP:
	{
		skip 'sanitizers keep freed memory', 1 if $ENV{DMS_SANITIZED};
		cmp_ok($late - $early, '<', 2048, 'the memory of the worker does not grow');
	}
	is($node->safe_psql('store', 'SELECT count(*) FROM dms.audit()'), 0, 'and the audit finds nothing');
	return;
}
