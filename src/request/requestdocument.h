/*
 * requestdocument.h
 *		Requests that read or write one document.
 */
#ifndef DMS_REQUESTDOCUMENT_H
#define DMS_REQUESTDOCUMENT_H

#include "postgres.h"

#include "request/route.h"

extern void RequestDocumentPost(RouteCall *call);
extern void RequestDocumentPut(RouteCall *call);
extern void RequestDocumentDelete(RouteCall *call);
extern void RequestDocumentGet(RouteCall *call);

#endif							/* DMS_REQUESTDOCUMENT_H */
