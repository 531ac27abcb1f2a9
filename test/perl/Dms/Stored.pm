# Dms::Stored
#
# The rows that a store must have for a set of documents, derived from the bodies
# and the ApiSchema files alone, and SQL that reads the actual rows.  Nothing here
# calls a function of the extension.

package Dms::Stored;

use strict;
use warnings;

use Carp qw(croak);
use Exporter qw(import);

use Dms::Canonical qw(canonical_tree decimal_text);
use Dms::Identity qw(edge_source reference_ids referential_id);
use Dms::Naming qw(physical_name);

our @EXPORT_OK = qw(tables_of rows_sql expected_rows edges_sql members_sql
  identities_sql identities_from_storage);

=head1 FUNCTIONS

=over

=item tables_of($schema, $resource)

The tables of a resource as in Dms::Naming; descriptors have the core's.

=cut

my @DESCRIPTOR_COLUMNS = (
	[ namespace          => 'text' ],
	[ codeValue          => 'text' ],
	[ shortDescription   => 'text' ],
	[ description        => 'text' ],
	[ effectiveBeginDate => 'date' ],
	[ effectiveEndDate   => 'date' ]);

sub tables_of
{
	my ($schema, $resource) = @_;

	$schema->{stored_tables} ||= do
	{
		my %tables;
		push @{ $tables{ $_->{resource} } }, $_ foreach Dms::Naming::tables($schema);
		\%tables;
	};
	return @{ $schema->{stored_tables}{ $resource->{key} } } unless $resource->{is_descriptor};
	return {
		pg_schema => 'dms',
		name      => 'descriptor',
		path      => '$',
		kind      => 'root',
		key       => ['documentid'],
		columns   => [
			{ name => 'documentid', kind => 'key' },
			map { { name => lc $_->[0], type => $_->[1], path => "\$.$_->[0]", kind => 'scalar' } }
			  @DESCRIPTOR_COLUMNS
		],
	};
}

# Returns SQL for a column as the text that a canonical body has for it.
sub _text_sql
{
	my ($column) = @_;
	my $name = qq(t."$column->{name}");

	return "trim_scale($name)::text" if $column->{type} =~ /^numeric/;
	return qq(to_char($name AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'))
	  if $column->{type} =~ /^timestamp/;
	return "to_char($name, 'YYYY-MM-DD')" if $column->{type} eq 'date';
	return "to_char($name, 'HH24:MI:SS')" if $column->{type} =~ /^time\b/;
	return "$name\::text";
}

# Returns SQL for a reference as the ReferentialId of its target.
sub _reference_sql
{
	my ($column, $reference) = @_;

	return "(SELECT i.referentialid::text FROM dms.referentialidentity i"
	  . qq( WHERE i.documentid = t."$column->{name}")
	  . " AND i.projectname = '$reference->{project}' AND i.resourcename = '$reference->{name}')";
}

=item rows_sql($schema, $resource)

A query with the document's id as $1: all its rows as one text.

=cut

sub rows_sql
{
	my ($schema, $resource) = @_;
	my (@selects, $number);

	foreach my $table (tables_of($schema, $resource))
	{
		my ($id, @ordinals) = @{ $table->{key} };
		my @parts = map { qq('/' || t."$_") } @ordinals;
		foreach my $column (grep { $_->{kind} ne 'key' } @{ $table->{columns} })
		{
			my $reference = $resource->{reference_at}{ $column->{path} }
			  || $resource->{descriptor_at}{ $column->{path} };
			my $text = $reference ? _reference_sql($column, $reference) : _text_sql($column);
			push @parts, "'|$column->{name}=' || $text";
		}
		my $order = join ', ', (map { qq(t."$_") } @ordinals), (0) x (4 - @ordinals);
		push @selects,
			"SELECT ARRAY[" . ++$number . ", $order] AS place,"
		  . " concat('$table->{pg_schema}.$table->{name}'"
		  . join('', map { ", $_" } @parts)
		  . qq[) AS line FROM "$table->{pg_schema}"."$table->{name}" t WHERE t."$id" = \$1];
	}
	return "SELECT string_agg(line, E'\\n' ORDER BY place) FROM ("
	  . join(' UNION ALL ', @selects) . ") AS rows";
}

=item expected_rows($schema, $resource, $document)

The text that C<rows_sql> must give for a document.

=cut

sub expected_rows
{
	my ($schema, $resource, $document) = @_;

	my $tree = canonical_tree($schema, $resource, $document);
	my %target = map { $_->{path} => $_->{uuid} } reference_ids($schema, $resource, $document);
	my @lines;
	foreach my $table (tables_of($schema, $resource))
	{
		foreach my $place (_places($tree, $table->{path}))
		{
			my ($node, $path, @ordinals) = @$place;
			my $line = join '/', "$table->{pg_schema}.$table->{name}", @ordinals;
			foreach my $column (grep { $_->{kind} ne 'key' } @{ $table->{columns} })
			{
				my $rest = substr $column->{path}, length $table->{path};
				my $text = $target{"$path$rest"};
				$text = _leaf_text($node, $rest) unless defined $text;
				$line .= "|$column->{name}=$text" if defined $text;
			}
			push @lines, $line;
		}
	}
	return join "\n", @lines;
}

# Returns [node, path with indices, index, ...] of all nodes at a path.
sub _places
{
	my ($tree, $path) = @_;

	my @places = [ $tree, '$' ];
	(my $steps = $path) =~ s/^\$//;
	foreach my $step ($steps =~ /\.[^.\[]+|\[\*\]/g)
	{
		my @next;
		foreach my $place (@places)
		{
			my ($node, $at, @ordinals) = @$place;
			if ($step eq '[*]')
			{
				push @next, map { [ $node->[$_], "$at\[$_]", @ordinals, $_ ] } 0 .. $#$node;
			}
			elsif (defined(my $child = $node->{ substr $step, 1 }))
			{
				push @next, [ $child, "$at$step", @ordinals ];
			}
		}
		@places = @next;
	}
	return @places;
}

sub _leaf_text
{
	my ($node, $path) = @_;

	foreach my $step (grep { length } split /\./, $path)
	{
		$node = $node->{$step};
		return unless defined $node;
	}
	return $node->text;
}

=item edges_sql($schema)

A query of all reference columns as (parent, child, edge source, identity
flag), to compare with dms.ReferenceEdge.

=cut

sub edges_sql
{
	my ($schema) = @_;
	my @selects;

	foreach my $resource (grep { !$_->{is_descriptor} } $schema->resources)
	{
		my %identity = map { $_ => 1 } @{ $resource->{identity} };
		foreach my $table (tables_of($schema, $resource))
		{
			foreach my $column (@{ $table->{columns} })
			{
				my ($kind, $flag);
				if ($column->{kind} eq 'reference')
				{
					$kind = 'docref';
					$flag = $resource->{reference_at}{ $column->{path} }{is_identity};
				}
				elsif ($column->{kind} eq 'descriptor')
				{
					$kind = 'desc';
					$flag = $identity{ $column->{path} };
				}
				else { next }
				my (undef, $id) = edge_source($resource, $kind, $column->{path});
				push @selects,
				    qq(SELECT "$table->{key}[0]", "$column->{name}", '$id'::bigint, )
				  . ($flag ? 'true' : 'false')
				  . qq( FROM "$table->{pg_schema}"."$table->{name}" WHERE "$column->{name}" IS NOT NULL);
			}
		}
	}
	return "SELECT DISTINCT * FROM (" . join("\nUNION ALL ", @selects) . ") AS columns";
}

=item members_sql($schema)

Pairs of queries, one for each abstract resource: what its member table must
hold, and what it holds.

=cut

sub members_sql
{
	my ($schema) = @_;
	my @pairs;

	foreach my $abstract ($schema->abstracts)
	{
		my $name = physical_name("$abstract->{name}_Member");
		my @roots;
		foreach my $resource (@{ $abstract->{subclasses} })
		{
			my ($root) = tables_of($schema, $resource);
			push @roots, "SELECT documentid, '$resource->{project}:$resource->{name}'"
			  . qq( FROM "$root->{pg_schema}"."$root->{name}");
		}
		push @pairs,
		  [
			join(' UNION ALL ', @roots),
			qq(SELECT documentid, discriminator FROM "$abstract->{pg_schema}"."$name")
		  ];
	}
	return @pairs;
}

=item identities_sql($schema)

A query of (resource, DocumentId, columns): for every document the columns of
its root that its identity is made of, as text.

=cut

sub _identity_columns
{
	my ($schema, $resource) = @_;
	my ($root) = tables_of($schema, $resource);

	return map { $_->{name} eq 'namespace' || $_->{name} eq 'codevalue' ? $_ : () }
	  @{ $root->{columns} }
	  if $resource->{is_descriptor};

	my (@columns, %seen);
	foreach my $path (@{ $resource->{identity} })
	{
		my ($column) = grep { defined $_->{path} && ($_->{path} eq $path || $path =~ /^\Q$_->{path}\E\./) }
		  @{ $root->{columns} };
		croak "$resource->{key}: no column for $path" unless $column;
		push @columns, $column unless $seen{ $column->{name} }++;
	}
	return @columns;
}

sub identities_sql
{
	my ($schema) = @_;
	my @selects;

	foreach my $resource ($schema->resources)
	{
		my ($root) = tables_of($schema, $resource);
		my @texts = map { _text_sql({ %$_, type => $_->{type} || 'bigint' }) }
		  _identity_columns($schema, $resource);
		push @selects,
			"SELECT '$resource->{key}', t.documentid, json_build_array("
		  . join(', ', @texts)
		  . qq[) FROM "$root->{pg_schema}"."$root->{name}" t]
		  . ($resource->{is_descriptor} ? " WHERE t.discriminator = '$resource->{project}:$resource->{name}'" : '');
	}
	return join "\nUNION ALL ", @selects;
}

=item identities_from_storage($schema, [resource key, document id, [text, ...]], ...)

The ReferentialIds of documents, from rows of C<identities_sql>: a list of
[document id, project, resource, uuid], following references from row to row.

=cut

sub identities_from_storage
{
	my ($schema, @rows) = @_;

	my %row = map { $_->[1] => $_ } @rows;
	my $context = { schema => $schema, row => \%row, values => {} };
	my @ids;
	foreach my $row (@rows)
	{
		my ($key, $id) = @$row;
		my $resource = $schema->{resources}{$key};
		my $values   = _values($context, $id);
		my @elements =
		    $resource->{is_descriptor}
		  ? [ '$.descriptor', $values->{'$.descriptor'} ]
		  : map { [ $_, $values->{$_} ] } @{ $resource->{identity} };
		push @ids,
		  [ $id, $resource->{project}, $resource->{name},
			(referential_id($resource->{project}, $resource->{name}, @elements))[1] ];
		my $super = $resource->{super} or next;
		$elements[0][0] = $super->{identity_path} if $super->{identity_path};
		push @ids,
		  [ $id, $super->{project}, $super->{name},
			(referential_id($super->{project}, $super->{name}, @elements))[1] ];
	}
	return @ids;
}

# Returns identity path -> text of one document, also by the superclass' paths.
sub _values
{
	my ($context, $id) = @_;

	return $context->{values}{$id} if $context->{values}{$id};
	my $schema   = $context->{schema};
	my $row      = $context->{row}{$id} or croak "no row of document $id";
	my $resource = $schema->{resources}{ $row->[0] };
	my @columns  = _identity_columns($schema, $resource);
	my %text;
	@text{ map { $_->{name} } @columns } = @{ $row->[2] };

	return $context->{values}{$id} = { '$.descriptor' => "$text{namespace}#$text{codevalue}" }
	  if $resource->{is_descriptor};

	my %values;
	foreach my $path (@{ $resource->{identity} })
	{
		my ($column) = grep { $_->{path} eq $path || $path =~ /^\Q$_->{path}\E\./ } @columns;
		my $text = $text{ $column->{name} };
		if ($column->{kind} eq 'descriptor')
		{
			$text = _values($context, $text)->{'$.descriptor'};
		}
		elsif ($column->{kind} eq 'reference')
		{
			my ($member) = grep { $_->{path} eq $path }
			  @{ $resource->{reference_at}{ $column->{path} }{members} };
			$text = _values($context, $text)->{ $member->{target} };
		}
		$values{$path} = $text;
	}
	my $super = $resource->{super};
	$values{ $super->{identity_path} } = $values{ $resource->{identity}[0] }
	  if $super && $super->{identity_path};
	return $context->{values}{$id} = \%values;
}

=back

=cut

1;
