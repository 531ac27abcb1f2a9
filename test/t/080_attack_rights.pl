# The caller, the owner of the store and the owner of the database are three
# enemies: test/attack has what each of them tries, to get the rights of another.
use strict;
use warnings;

use Dms::Attack qw(create_roles run_attacks);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('attack');
$node->init;
$node->append_conf("postgresql.conf", "max_prepared_transactions = 2");
$node->start;
create_roles($node);
run_attacks($node, '.');
$node->stop;
done_testing();
