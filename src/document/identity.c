/*
 * identity.c
 *		Computing ReferentialIds: of a document, of its alias under the
 *		superclass, and of the targets of its references.
 */
#include "postgres.h"

#include "base/faults.h"
#include "base/lowercase.h"
#include "base/referentialid.h"
#include "base/uuid.h"
#include "document/descriptormemo.h"
#include "document/identity.h"

/*
 * Returns the text of an identity value as it is hashed.  A checked body has
 * it; if it is missing, the model is damaged.
 */
static char *
IdentityText(const JNode *node, bool lower)
{
	if (node == NULL || node->text == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("document has no value where its model has a part of an identity")));
	if (lower)
		return LowercaseInvariant(node->text, node->length);
	return unconstify(char *, node->text);
}

/* Returns the values that identify the document, in the order of the model. */
static char **
IdentityValues(const ResourceModel *model, JNode *body)
{
	char	  **values = palloc(sizeof(char *) * Max(model->nidentity, 1));

	if (model->kind == RESOURCE_DESCRIPTOR)
	{
		values[0] = psprintf("%s#%s",
							 IdentityText(JsonTreeAt(body, "$.namespace"), true),
							 IdentityText(JsonTreeAt(body, "$.codeValue"), true));
		return values;
	}
	for (int i = 0; i < model->nidentity; i++)
		values[i] = IdentityText(JsonTreeAt(body, model->identity[i].path),
								 model->identity[i].lower);
	return values;
}

/* Compute the ReferentialIds of a document with these identity values. */
void
IdentityHash(const ResourceModel *model, char **values, pg_uuid_t *primary,
			 pg_uuid_t *alias)
{
	const char **paths = palloc(sizeof(char *) * Max(model->nidentity, 1));

	for (int i = 0; i < model->nidentity; i++)
		paths[i] = model->identity[i].path;
	ReferentialId(model->project, model->resource, model->nidentity, paths,
				  (const char *const *) values, primary);
	if (model->superclass_resource == NULL)
		return;
	if (model->superclass_path)
		paths[0] = model->superclass_path;
	ReferentialId(model->superclass_project, model->superclass_resource,
				  model->nidentity, paths, (const char *const *) values, alias);
}

/*
 * Compute the identity of a body, and find out which of its references name
 * the body itself.
 */
void
IdentityCompute(FlatDocument *flat, JNode *body)
{
	flat->identity = IdentityValues(flat->model, body);
	IdentityHash(flat->model, flat->identity, &flat->primary, &flat->alias);
	for (int i = 0; i < flat->nuses; i++)
	{
		pg_uuid_t  *id = &flat->uses[i].referential_id;

		if (FAULT_SKIP("own_reference"))
			continue;
		flat->uses[i].own = memcmp(id, &flat->primary, UUID_LEN) == 0 ||
			(flat->model->superclass_resource &&
			 memcmp(id, &flat->alias, UUID_LEN) == 0);
	}
}

/* Compute the ReferentialId of a descriptor from its URI. */
static void
DescriptorId(const char *project, const char *resource, const JNode *node,
			 pg_uuid_t *id)
{
	const char *path = "$.descriptor";
	const char *value;

	if (node != NULL && node->text &&
		DescriptorMemoFind(project, resource, node->text, node->length, id))
		return;
	value = IdentityText(node, true);
	ReferentialId(project, resource, 1, &path, &value, id);
	DescriptorMemoKeep(project, resource, node->text, node->length, id);
}

/*
 * Compute the ReferentialId of a reference's target, from the names and paths
 * of the target's resource.
 */
void
IdentityOfReference(ReferenceUse *use)
{
	const ReferenceModel *reference = use->reference;
	const char **paths;
	const char **values;

	if (reference->descriptor)
	{
		DescriptorId(reference->project, reference->resource, use->node, &use->referential_id);
		return;
	}
	paths = palloc(sizeof(char *) * reference->nmembers);
	values = palloc(sizeof(char *) * reference->nmembers);
	for (int i = 0; i < reference->nmembers; i++)
	{
		const MemberModel *member = &reference->members[i];

		paths[i] = member->identity_path;
		values[i] = IdentityText(JsonTreeMember(use->node, member->name), member->lower);
	}
	ReferentialId(reference->project, reference->resource, reference->nmembers,
				  paths, values, &use->referential_id);
}

/*
 * Compute the ReferentialId of the descriptor that a member of a reference
 * names.  Returns false if the member is not a descriptor.
 */
bool
IdentityOfDescriptor(const ReferenceUse *use, int member, pg_uuid_t *id)
{
	const MemberModel *m = &use->reference->members[member];

	if (m->descriptor_resource == NULL)
		return false;
	DescriptorId(m->descriptor_project, m->descriptor_resource,
				 JsonTreeMember(use->node, m->name), id);
	return true;
}
