package Dms::Hold;

# Stops a session at a DDL command of the test's choice, so that it can be interrupted
# there, however fast the machine is.
#
#	my $hold = Dms::Hold->new($node, $database);
#	... psql runs $hold->at(100) and then its DDL ...
#	my $pid = $hold->wait_for;			# it waits after its 100th command

use strict;
use warnings;

use Dms::Session;

sub new
{
	my ($class, $node, $database) = @_;
	my $self = bless { node => $node, database => $database }, $class;

	$node->safe_psql($database, q{
		CREATE SCHEMA hold;
		CREATE SEQUENCE hold.commands;
		CREATE FUNCTION hold.command() RETURNS event_trigger LANGUAGE plpgsql AS $$
		BEGIN
			IF nextval('hold.commands') = current_setting('hold.at', true)::bigint THEN
				PERFORM pg_advisory_xact_lock_shared(1);
			END IF;
		END $$;
		CREATE EVENT TRIGGER hold ON ddl_command_end EXECUTE FUNCTION hold.command()});
	$self->{session} = Dms::Session->new($node, $database);
	$self->{session}->ask("SELECT pg_advisory_lock(1);\n");
	return $self;
}

# Returns SQL that makes a session stop after its n-th command; 0 means never.
sub at
{
	my ($self, $n) = @_;

	return "DO \$\$ BEGIN PERFORM setval('hold.commands', 1, false); END \$\$;\nSET hold.at = $n;\n";
}

# Waits until the session has stopped; returns its process id.
sub wait_for
{
	my ($self) = @_;
	my $waiting = "FROM pg_stat_activity WHERE datname = '$self->{database}' AND wait_event = 'advisory'";

	$self->{node}->poll_query_until('postgres', "SELECT count(*) = 1 $waiting") or die 'nobody waits';
	return $self->{node}->safe_psql('postgres', "SELECT pid $waiting");
}

# Returns the number of commands since at().
sub commands
{
	my ($self) = @_;

	return $self->{node}->safe_psql($self->{database}, 'SELECT last_value FROM hold.commands');
}

sub finish
{
	my ($self) = @_;

	return $self->{session}->finish;
}

1;
