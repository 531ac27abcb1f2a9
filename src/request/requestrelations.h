/*
 * requestrelations.h
 *		Requests about relations between documents.
 */
#ifndef DMS_REQUESTRELATIONS_H
#define DMS_REQUESTRELATIONS_H

#include "postgres.h"

#include "request/route.h"
#include "verbs/write.h"

extern void RequestAttachCheck(const Request *request);
extern void RequestAttachNew(const Request *request, Write *write);
extern bool RequestAttach(const Request *request, const WriteResult *result);
extern void RequestParentGet(RouteCall *call);
extern void RequestParentPut(RouteCall *call);
extern void RequestParentDelete(RouteCall *call);
extern void RequestChildrenGet(RouteCall *call);
extern void RequestAncestorsGet(RouteCall *call);
extern void RequestMembersGet(RouteCall *call);
extern void RequestCollectionsGet(RouteCall *call);
extern void RequestMemberPut(RouteCall *call);
extern void RequestMemberDelete(RouteCall *call);
extern void RequestAccountDocumentsGet(RouteCall *call);
extern void RequestRecordsGet(RouteCall *call);
extern void RequestUrnGet(RouteCall *call);

#endif							/* DMS_REQUESTRELATIONS_H */
