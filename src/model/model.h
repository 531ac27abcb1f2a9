/*
 * model.h
 *		The model of a resource: its JSON, its tables, and how they correspond.
 *
 * A deploy compiles one ResourceModel per resource from the ApiSchema and
 * stores it as JSON; a session loads the models of the resources it touches.
 * A model holds names and positions, never OIDs.  Places that refer to each
 * other do so by index into the arrays of the same model; -1 means none.
 *
 * Members marked "derived" follow from others.  They are not stored, so that
 * there is nothing in a stored model that could contradict itself: loading one
 * derives them (modelsound.c).  Only abstract resources, which have no document
 * to derive anything from, are stored with all members (but rewritten patterns).
 *
 * Words: a *scope* is a place of the document that holds an object (the
 * document itself, an inlined object, an element of an array, a reference, an
 * extension); a *property* is a member of a scope.  JSON paths use ".name" and
 * "[*]".
 */
#ifndef DMS_MODEL_H
#define DMS_MODEL_H

#include "postgres.h"

/*
 * The form in which models are stored.  To be raised whenever it changes, with
 * STORE_VERSION: a library refuses models that were stored in another form.  Those
 * of older forms, down to the oldest one that is known, are converted by
 * dms.upgrade_store().
 */
#define MODEL_FORMAT 3
#define OLDEST_MODEL_FORMAT 2

/* Names of projects and resources: the width of the columns that hold them. */
#define MODEL_MAX_NAME 256

/* "{project}:{resource}", the type of a document. */
#define MODEL_MAX_DISCRIMINATOR (2 * MODEL_MAX_NAME + 1)

/* As many digits as a numeric column can be declared with. */
#define MODEL_MAX_PRECISION 1000

/* Arrays within arrays that a document may have, and the columns of their keys. */
#define MODEL_MAX_DEPTH 16
#define MODEL_MAX_KEYS (1 + MODEL_MAX_DEPTH)

typedef enum ResourceKind
{
	RESOURCE_PLAIN,
	RESOURCE_DESCRIPTOR,
	RESOURCE_SCHOOL_YEAR,
	RESOURCE_ABSTRACT
} ResourceKind;

typedef enum ValueType
{
	VALUE_TEXT,
	VALUE_INT4,
	VALUE_INT8,
	VALUE_NUMERIC,
	VALUE_BOOL,
	VALUE_DATE,
	VALUE_TIME,
	VALUE_TIMESTAMP
} ValueType;

typedef enum PropertyKind
{
	PROPERTY_SCALAR,
	PROPERTY_DESCRIPTOR,
	PROPERTY_REFERENCE,
	PROPERTY_MEMBER,			/* a value inside a reference */
	PROPERTY_OBJECT,			/* inlined: no table of its own */
	PROPERTY_ARRAY,
	PROPERTY_EXTENSION			/* "_ext.{project}": a table beside the
								 * scope's */
} PropertyKind;

typedef enum TableKind
{
	TABLE_ROOT,
	TABLE_COLLECTION,
	TABLE_EXTENSION
} TableKind;

typedef enum ColumnRole
{
	COLUMN_DOCUMENT,			/* key: the document */
	COLUMN_ORDINAL,				/* key: a position in an array */
	COLUMN_SCALAR,
	COLUMN_REFERENCE,
	COLUMN_DESCRIPTOR,
	COLUMN_URI,					/* dms.Descriptor: namespace#codeValue */
	COLUMN_DISCRIMINATOR		/* dms.Descriptor: {project}:{resource} */
} ColumnRole;

/* The rules of a value.  Lengths and bounds of -1 or NULL: no limit. */
typedef struct ValueModel
{
	int			type;			/* ValueType */
	int			min_length;
	int			max_length;		/* characters */
	int			precision;		/* decimals */
	int			scale;
	char	   *pattern;		/* as in the ApiSchema */
	text	   *rewritten;		/* derived, never stored: the pattern in
								 * PostgreSQL's dialect */
	char	   *minimum;
	char	   *maximum;
	bool		exclusive_minimum;
	bool		exclusive_maximum;
} ValueModel;

typedef struct PropertyModel
{
	char	   *name;
	int			kind;			/* PropertyKind */
	bool		required;
	bool		trim;			/* blanks around the value are dropped */
	ValueModel	value;			/* descriptors, members; derived: scalars */
	int			column;			/* in the scope's table: scalars, descriptors,
								 * references */
	int			scope;			/* objects, references, extensions, elements */
	int			table;			/* arrays, extensions */
	int			reference;		/* derived: references and descriptors */
	int			min_items;		/* arrays */
	int			max_items;
	bool		unique_items;
} PropertyModel;

typedef struct ScopeModel
{
	char	   *path;			/* derived */
	int			table;			/* derived: where its values are stored */
	PropertyModel *properties;	/* in byte order of their names */
	int			nproperties;
} ScopeModel;

typedef struct ColumnModel
{
	char	   *name;
	char	   *path;			/* derived; NULL for keys */
	int			role;			/* derived: ColumnRole */
	ValueModel	value;			/* derived: keys, references, descriptors */
	bool		required;		/* derived */
	bool		identity;		/* derived: part of the natural key */
	int			reference;
	char	   *foreign_key;	/* constraint of a reference; else NULL */
} ColumnModel;

typedef struct UniqueModel
{
	char	   *name;
	int		   *columns;
	int			ncolumns;
	bool		natural_key;
} UniqueModel;

typedef struct TableModel
{
	char	   *schema;
	char	   *name;			/* physical */
	char	   *title;			/* before shortening and folding of case */
	char	   *scope_path;		/* derived */
	int			kind;			/* derived: TableKind */
	int			parent;			/* derived */
	int			nkeys;			/* derived: leading columns that are the
								 * primary key */
	bool		bare_references;	/* derived: elements hold a reference,
									 * nothing else */
	ColumnModel *columns;
	int			ncolumns;
	UniqueModel *uniques;
	int			nuniques;
} TableModel;

/* One identity value inside a reference, in the order of the target. */
typedef struct MemberModel
{
	char	   *identity_path;	/* in the target */
	char	   *name;			/* in the reference object */
	int			type;			/* derived: ValueType of the value */
	bool		lower;			/* derived: compared and hashed in lower case */
	char	   *descriptor_project; /* when the value names a descriptor */
	char	   *descriptor_resource;
} MemberModel;

/* A place where a document refers to another document or to a descriptor. */
typedef struct ReferenceModel
{
	char	   *path;			/* derived */
	bool		descriptor;
	char	   *project;
	char	   *resource;
	bool		abstract;
	bool		identity;		/* the target's identity is part of ours */
	bool		can_change;		/* the target's identity can change */
	int			rank;			/* of the target's type */
	char	   *edge_source_key;
	int64		edge_source_id;
	int			table;			/* derived */
	int			column;			/* derived */
	int			projection;		/* how to read the target's identity */
	MemberModel *members;		/* documents only */
	int			nmembers;
} ReferenceModel;

/* A value of the document's own identity. */
typedef struct IdentityModel
{
	char	   *path;
	int			type;			/* derived: ValueType */
	bool		lower;			/* derived */
	int			column;			/* derived: in the root table */
	int			reference;		/* derived: when the value comes from one */
	int			member;			/* derived: which member of it */
} IdentityModel;

/* A table on the way to the values of an identity. */
typedef struct JoinModel
{
	char	   *schema;
	char	   *table;
	int			from;			/* the join it hangs on; -1 for the first */
	char	   *from_column;
} JoinModel;

typedef struct ProjectedModel
{
	char	   *path;			/* identity path */
	int			join;
	char	   *column;
	int			type;			/* ValueType */
	bool		lower;			/* derived */
} ProjectedModel;

/* Reading the identity of a type of document from storage. */
typedef struct ProjectionModel
{
	char	   *project;
	char	   *resource;
	JoinModel  *joins;
	int			njoins;
	ProjectedModel *values;		/* in identity order */
	int			nvalues;
} ProjectionModel;

typedef struct QueryPathModel
{
	char	   *path;
	int			type;			/* derived: ValueType */
	int			column;			/* derived: in the root table; -1: the
								 * document's id */
	int			reference;		/* derived */
	int			member;			/* derived */
	bool		required;		/* derived: every document has a value */
} QueryPathModel;

/*
 * A field of queries matches at any of its paths.  If one of them lies in a
 * reference that documents need not have, the field also matches at the paths
 * that equality constraints make equal to it and that have no field of their own.
 */
typedef struct QueryModel
{
	char	   *name;
	QueryPathModel *paths;
	int			npaths;
	QueryPathModel *equals;		/* equal paths */
	int			nequals;
	bool		tied;			/* derived: one path, and one equal path,
								 * whose values never differ */
} QueryModel;

/* No two elements of one array may agree in all these values. */
typedef struct UniquenessModel
{
	char	   *array_path;		/* ends in "[*]" */
	char	  **members;		/* relative to the element: ".city" */
	int			nmembers;
	char	   *constraint;		/* that enforces it in the database; or NULL */
} UniquenessModel;

typedef struct EqualityModel
{
	char	   *source;
	char	   *target;
} EqualityModel;

typedef struct ResourceModel
{
	int			format;			/* MODEL_FORMAT */
	char	   *project;
	char	   *resource;
	char	   *project_endpoint;
	char	   *endpoint;
	char	   *version;
	int			kind;			/* ResourceKind */
	bool		allow_identity_updates;
	bool		can_change;		/* its identity can, also through others */
	int			rank;			/* level in the graph of identities */
	int			load_order;
	char	   *superclass_project;
	char	   *superclass_resource;
	char	   *superclass_path;	/* NULL: same paths as the own identity */
	char	   *member_schema;	/* the superclass' member table */
	char	   *member_table;
	ScopeModel *scopes;			/* the document is the first */
	int			nscopes;
	TableModel *tables;			/* the root is the first; parents first */
	int			ntables;
	ReferenceModel *references;
	int			nreferences;
	IdentityModel *identity;
	int			nidentity;
	ProjectionModel *projections;	/* the own one is the first */
	int			nprojections;
	QueryModel *queries;
	int			nqueries;
	UniquenessModel *uniqueness;
	int			nuniqueness;
	EqualityModel *equalities;
	int			nequalities;
} ResourceModel;

/*
 * Returns true if an identity path names a descriptor, whose URI is the same in
 * any case: such values are compared and hashed in lower case.
 */
static inline bool
ModelPathIsDescriptor(const char *path)
{
	static const char ending[] = "Descriptor";
	size_t		length = strlen(path);

	return length >= sizeof(ending) - 1 &&
		strcmp(path + length - (sizeof(ending) - 1), ending) == 0;
}

#endif							/* DMS_MODEL_H */
