/*
 * redissettings.h
 *		The settings of the background worker's Redis.
 */
#ifndef DMS_REDISSETTINGS_H
#define DMS_REDISSETTINGS_H

#include "postgres.h"

#include "base/redislibrary.h"

/* What is published; these are bits. */
typedef enum RedisKind
{
	REDIS_REFID = 1,
	REDIS_UUID = 2,
	REDIS_URI = 4,
	REDIS_DOC = 8
} RedisKind;

/* URIs hardly ever change, so they are kept longer by this factor. */
#define REDIS_URI_TTL_FACTOR 12

extern void RedisSettingsInit(void);
extern bool RedisSettingsIsOn(void);
extern const char *RedisSettingsUrl(void);
extern const char *RedisSettingsPasswordFile(void);
extern const char *RedisSettingsChannel(void);
extern int	RedisSettingsKinds(void);
extern int	RedisSettingsTtl(void);
extern void RedisSettingsServer(RedisServer *server);

#endif							/* DMS_REDISSETTINGS_H */
