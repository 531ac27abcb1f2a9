/*
 * descriptormemo.c
 *		What a session remembers of the descriptors that bodies name.
 *
 * Bodies name few different descriptors, over and over again.  Two things are
 * remembered of them, each in a table of fixed size in which a newer entry
 * displaces the one that is in its slot:
 *
 * - the ReferentialId of a URI.  It takes longer to compute than to find, and is
 *   never outdated, because it depends on nothing but the strings.
 * - the document that had a ReferentialId.  This is only a guess, since the
 *   descriptor may have been deleted and made anew.  A row that is stored confirms
 *   it: what a row refers to exists, ids are not used again, and the identity of
 *   these descriptors cannot change.  Nothing is written that relies on a guess.
 *
 * As for the URIs in descriptoruris.c, a change of the table and dms.repair() make
 * all sessions forget their guesses, and dms.descriptor_cache = 0 makes for none.
 */
#include "postgres.h"

#include "base/faults.h"
#include "common/hashfn.h"
#include "document/descriptormemo.h"
#include "document/descriptoruris.h"
#include "engine/keyaccess.h"
#include "engine/store.h"
#include "engine/storerow.h"
#include "utils/memutils.h"

/* The number of entries of each table. */
#define SLOTS 256

/* Longer URIs are not remembered. */
#define LONGEST_URI 512

/* The ReferentialId of a URI. */
typedef struct RememberedId
{
	char	   *project;
	char	   *resource;
	char	   *uri;			/* NULL: nothing is remembered */
	int			length;
	pg_uuid_t	id;
} RememberedId;

/* The document of a ReferentialId. */
typedef struct Guess
{
	pg_uuid_t	id;
	int64		document_id;	/* 0: nothing is remembered */
} Guess;

static RememberedId *remembered = NULL;
static MemoryContext remembered_context = NULL;

/* The guesses, and the numbers of changes under which they were made. */
static Guess guesses[SLOTS];
static uint64 guesses_changes = 0;
static uint64 guesses_generation = 0;

/* Make the table of ids. */
static void
MakeRemembered(void)
{
	if (remembered_context == NULL)
		remembered_context = AllocSetContextCreate(TopMemoryContext, "dms descriptor ids", ALLOCSET_SMALL_SIZES);
	remembered = MemoryContextAllocZero(remembered_context, sizeof(RememberedId) * SLOTS);
}

/* Returns the slot of a URI. */
static RememberedId *
SlotOf(const char *resource, const char *uri, int length)
{
	uint32		hash = hash_combine(hash_bytes((const unsigned char *) uri, length),
									hash_bytes((const unsigned char *) resource, (int) strlen(resource)));

	return &remembered[hash % SLOTS];
}

/* Returns true if a slot has this URI. */
static bool
SlotHas(const RememberedId *slot, const char *project, const char *resource, const char *uri, int length)
{
	return slot->uri != NULL && slot->length == length && memcmp(slot->uri, uri, length) == 0 &&
		strcmp(slot->resource, resource) == 0 && strcmp(slot->project, project) == 0;
}

/* Find the ReferentialId of a URI; returns false if it is not remembered. */
bool
DescriptorMemoFind(const char *project, const char *resource, const char *uri, int length, pg_uuid_t *id)
{
	const RememberedId *slot;

	if (remembered == NULL || length > LONGEST_URI)
		return false;
	slot = SlotOf(resource, uri, length);
	if (!SlotHas(slot, project, resource, uri, length))
		return false;
	*id = slot->id;
	return true;
}

/* Forget what a slot has. */
static void
EmptySlot(RememberedId *slot)
{
	if (slot->uri == NULL)
		return;
	pfree(slot->uri);
	slot->uri = NULL;
	pfree(slot->resource);
	pfree(slot->project);
}

/* Remember the ReferentialId of a URI. */
void
DescriptorMemoKeep(const char *project, const char *resource, const char *uri, int length, const pg_uuid_t *id)
{
	RememberedId entry = {.length = length,.id = *id};
	RememberedId *slot;

	if (length > LONGEST_URI)
		return;
	if (remembered == NULL)
		MakeRemembered();
	slot = SlotOf(resource, uri, length);
	EmptySlot(slot);
	entry.project = MemoryContextStrdup(remembered_context, project);
	entry.resource = MemoryContextStrdup(remembered_context, resource);
	entry.uri = MemoryContextAlloc(remembered_context, length + 1);
	memcpy(entry.uri, uri, length);
	*slot = entry;
}

/* Returns true if no table has changed since guesses were made, as far as is known. */
bool
DescriptorMemoHolds(void)
{
	return (guesses_changes == KeyAccessChanges() && guesses_generation == StoreRowGeneration()) ||
		(guesses_changes > 0 && FAULT_SKIP("guesses_hold"));
}

/* Forget guesses that may be outdated. */
static void
DropOutdated(void)
{
	if (DescriptorMemoHolds())
		return;
	memset(guesses, 0, sizeof(guesses));
	KeyAccessWatch(StoreTable(STORE_DESCRIPTOR));
	guesses_generation = StoreRowGeneration();
	guesses_changes = KeyAccessChanges();
}

/* Returns the slot of a ReferentialId, whose bytes are those of a hash. */
static Guess *
GuessSlot(const pg_uuid_t *id)
{
	return &guesses[id->data[UUID_LEN - 1] % SLOTS];
}

/*
 * Returns the document that a ReferentialId was resolved to before; 0 if that is not
 * known.  The identity of its type cannot change.
 */
int64
DescriptorMemoGuess(const pg_uuid_t *id)
{
	const Guess *slot = GuessSlot(id);

	if (!DescriptorUrisKept())
		return 0;
	DropOutdated();
	return memcmp(&slot->id, id, UUID_LEN) == 0 ? slot->document_id : 0;
}

/*
 * Remember the document that a ReferentialId was resolved to.  Not if a change has become
 * known since guesses were made: whoever relies on one of them must still be able to
 * notice.
 */
void
DescriptorMemoLearn(const pg_uuid_t *id, int64 document_id)
{
	Guess	   *slot = GuessSlot(id);

	if (FAULT_SKIP("guesses_late"))
		DropOutdated();
	if (!DescriptorMemoHolds())
		return;
	slot->id = *id;
	slot->document_id = document_id;
}
