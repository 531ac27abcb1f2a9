/*
 * digests.c
 *		dms.document_digests(): whether a copy of the documents of a resource
 *		is complete and correct, without sending the documents.
 *
 * Documents are divided into buckets by their ids.  The digest of a bucket is the
 * exclusive or of the SHA-256 hashes of its documents, so it does not depend on
 * their order, and whoever has a copy can compute it in one pass.  Buckets that
 * differ are then compared document by document.
 */
#include "postgres.h"

#include "base/report.h"
#include "base/sha256.h"
#include "common/sha2.h"
#include "engine/session.h"
#include "fmgr.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "verbs/read.h"

PG_FUNCTION_INFO_V1(dms_document_digests);

/* More buckets than this say nothing that the documents would not say in less. */
#define MAX_BUCKETS 65536

/* The documents of one bucket. */
typedef struct Bucket
{
	int64		documents;
	uint8		digest[PG_SHA256_DIGEST_LENGTH];
} Bucket;

typedef struct Buckets
{
	Bucket	   *buckets;
	int			n;
} Buckets;

/*
 * Returns the bucket of a document: the last four bytes of its id as a number,
 * modulo the number of buckets.  The first bytes of an id are a time.
 */
static Bucket *
BucketOf(const Buckets *all, const pg_uuid_t *uuid)
{
	uint32		number = 0;

	for (int i = UUID_LEN - 4; i < UUID_LEN; i++)
		number = (number << 8) | uuid->data[i];
	return &all->buckets[number % (uint32) all->n];
}

/* Add a document to its bucket, for ReadPage(). */
static void
AddDocument(void *state, const DocumentHeader *header, text *body)
{
	Bucket	   *bucket = BucketOf(state, &header->uuid);
	uint8		digest[PG_SHA256_DIGEST_LENGTH];

	Sha256(VARDATA_ANY(body), VARSIZE_ANY_EXHDR(body), digest);
	for (int i = 0; i < PG_SHA256_DIGEST_LENGTH; i++)
		bucket->digest[i] ^= digest[i];
	bucket->documents++;
}

/* Add the buckets that have documents to the result. */
static void
PutBuckets(ReturnSetInfo *rsinfo, const Buckets *all)
{
	for (int i = 0; i < all->n; i++)
	{
		const Bucket *bucket = &all->buckets[i];
		Datum		values[3];
		bool		nulls[3] = {false};

		if (bucket->documents == 0)
			continue;
		values[0] = Int32GetDatum(i);
		values[1] = Int64GetDatum(bucket->documents);
		values[2] = PointerGetDatum(cstring_to_text_with_len((const char *) bucket->digest,
															 PG_SHA256_DIGEST_LENGTH));
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
}

/* Return the number and the digest of the documents in each bucket. */
Datum
dms_document_digests(PG_FUNCTION_ARGS)
{
	static const char *const names[] = {"project", "resource", "buckets"};
	Session		session;
	Resource   *resource;
	Buckets		all;

	ReportRequireArguments(fcinfo, lengthof(names), names);
	all.n = PG_GETARG_INT32(2);
	if (all.n < 1 || all.n > MAX_BUCKETS)
		ReportError(PROBLEM_ARGUMENT, NULL, "buckets must be a number from 1 to %d", MAX_BUCKETS);
	InitMaterializedSRF(fcinfo, 0);
	ReadBegin(&session);
	resource = ModelCacheFind(text_to_cstring(PG_GETARG_TEXT_PP(0)),
							  text_to_cstring(PG_GETARG_TEXT_PP(1)));
	ModelCacheRefuseAbstract(resource);
	all.buckets = palloc0(sizeof(Bucket) * all.n);
	ReadPage(resource, QueryMake(resource, NULL, 0, NULL), 0, PG_INT64_MAX, 0, AddDocument, &all);
	PutBuckets((ReturnSetInfo *) fcinfo->resultinfo, &all);
	SessionEnd(&session);
	PG_RETURN_NULL();
}
