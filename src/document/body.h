/*
 * body.h
 *		The body of a write: parsed, canonical, and checked against its model.
 */
#ifndef DMS_BODY_H
#define DMS_BODY_H

#include "postgres.h"

#include "base/jsontree.h"
#include "model/model.h"

/* The purpose of a body decides whether it may have an "id". */
typedef enum BodyPurpose
{
	BODY_FOR_UPSERT,			/* no id */
	BODY_FOR_UPDATE				/* an id may be there */
} BodyPurpose;

extern void BodyInit(void);
extern JNode *BodyParse(const char *text, int len, BodyPurpose purpose,
						const char **id);
extern void BodyCheck(const ResourceModel *model, JNode *body, bool id_missing);

/* bodyrules.c: rules that span more than one value */
extern void BodyRulesCheck(const ResourceModel *model, JNode *body);

#endif							/* DMS_BODY_H */
