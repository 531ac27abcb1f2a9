/*
 * requestbody.h
 *		Bodies of requests, before they are taken for documents.
 */
#ifndef DMS_REQUESTBODY_H
#define DMS_REQUESTBODY_H

#include "postgres.h"

#include "base/jsontree.h"
#include "request/requestparse.h"

extern void RequestBodyRequire(const Request *request);
extern JNode *RequestBodyObject(const Request *request, const char *const *names, int n);

#endif							/* DMS_REQUESTBODY_H */
