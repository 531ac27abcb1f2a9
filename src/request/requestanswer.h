/*
 * requestanswer.h
 *		What requests about single documents share: preconditions, and answers.
 */
#ifndef DMS_REQUESTANSWER_H
#define DMS_REQUESTANSWER_H

#include "postgres.h"

#include "request/route.h"
#include "verbs/write.h"

extern void RequestTakePreconditions(const Request *request, Precondition *precondition);
extern void RequestStartWrite(RouteCall *call, Write *write, WriteResult *result);
extern void RequestAnswerWritten(RouteCall *call, const WriteResult *result, int status);
extern void RequestAnswerText(RouteCall *call, int64 etag, text *body);

#endif							/* DMS_REQUESTANSWER_H */
