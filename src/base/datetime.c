/*
 * datetime.c
 *		Reading dates and times leniently, writing them in one form.
 *
 * PostgreSQL's own input depends on DateStyle and TimeZone; identities must
 * not, so these readers and writers know neither.
 */
#include "postgres.h"

#include "base/datetime.h"
#include "utils/builtins.h"
#include "utils/datetime.h"

/* A text that is being read from left to right. */
typedef struct Reader
{
	const char *at;
	const char *end;
} Reader;

/* Read a number of least to most digits. */
static bool
ReadDigits(Reader *reader, int least, int most, int *number, int *ndigits)
{
	int			n = 0;

	*number = 0;
	while (n < most && reader->at < reader->end &&
		   *reader->at >= '0' && *reader->at <= '9')
	{
		*number = *number * 10 + (*reader->at++ - '0');
		n++;
	}
	if (ndigits)
		*ndigits = n;
	return n >= least;
}

/* Read one of these characters; returns false if the next is another. */
static bool
ReadChar(Reader *reader, const char *any)
{
	if (reader->at == reader->end || strchr(any, *reader->at) == NULL)
		return false;
	reader->at++;
	return true;
}

/* Skip blanks, if there are any. */
static void
SkipBlanks(Reader *reader)
{
	while (reader->at < reader->end && *reader->at == ' ')
		reader->at++;
}

/* Returns true if the day exists; years have at most four digits. */
static bool
DayExists(int year, int month, int day)
{
	return year >= 1 && year <= 9999 && month >= 1 && month <= 12 && day >= 1 &&
		day <= day_tab[isleap(year)][month - 1];
}

/*
 * Read 2025-01-31, 1/31/2025 or 01/31/25.  The month is first, unless there is
 * no such day.
 */
static bool
ReadDate(Reader *reader, DateADT *date)
{
	int			first;
	int			second;
	int			third;
	int			ndigits;
	int			year;
	int			month;
	int			day;

	if (!ReadDigits(reader, 1, 4, &first, &ndigits))
		return false;
	if (ndigits == 4)
	{
		if (!ReadChar(reader, "-/") || !ReadDigits(reader, 1, 2, &second, NULL) ||
			!ReadChar(reader, "-/") || !ReadDigits(reader, 1, 2, &third, NULL))
			return false;
		year = first;
		month = second;
		day = third;
	}
	else
	{
		if (ndigits > 2 || !ReadChar(reader, "/-.") ||
			!ReadDigits(reader, 1, 2, &second, NULL) || !ReadChar(reader, "/-.") ||
			!ReadDigits(reader, 2, 4, &third, &ndigits) || ndigits == 3)
			return false;
		year = ndigits == 2 ? third + (third < 50 ? 2000 : 1900) : third;
		month = first;
		day = second;
		if (!DayExists(year, month, day))
		{
			month = second;
			day = first;
		}
	}
	if (!DayExists(year, month, day))
		return false;
	*date = date2j(year, month, day) - POSTGRES_EPOCH_JDATE;
	return true;
}

/* Read the digits of a fraction of a second; all after the sixth are dropped. */
static bool
ReadFraction(Reader *reader, int *microseconds)
{
	int			ndigits;

	if (!ReadDigits(reader, 1, 9, microseconds, &ndigits))
		return false;
	for (; ndigits < 6; ndigits++)
		*microseconds *= 10;
	for (; ndigits > 6; ndigits--)
		*microseconds /= 10;
	return true;
}

/* Read 07:45, 07:45:00, 07:45:00.123 or 7:45 PM. */
static bool
ReadTime(Reader *reader, TimeADT *time)
{
	int			hour;
	int			minute;
	int			second = 0;
	int			microseconds = 0;

	if (!ReadDigits(reader, 1, 2, &hour, NULL) || !ReadChar(reader, ":") ||
		!ReadDigits(reader, 2, 2, &minute, NULL))
		return false;
	if (ReadChar(reader, ":"))
	{
		if (!ReadDigits(reader, 2, 2, &second, NULL))
			return false;
		if (ReadChar(reader, ".") && !ReadFraction(reader, &microseconds))
			return false;
	}
	if (reader->end - reader->at >= 3 && *reader->at == ' ')
	{
		bool		pm = pg_strncasecmp(reader->at + 1, "PM", 2) == 0;

		if (pm || pg_strncasecmp(reader->at + 1, "AM", 2) == 0)
		{
			if (hour < 1 || hour > 12)
				return false;
			hour = hour % 12 + (pm ? 12 : 0);
			reader->at += 3;
		}
	}
	if (hour > 23 || minute > 59 || second > 59)
		return false;
	*time = ((hour * 60 + minute) * INT64CONST(60) + second) * USECS_PER_SEC + microseconds;
	return true;
}

/* Read Z, +05:30, -0800 or nothing; sets the microseconds to be subtracted. */
static bool
ReadZone(Reader *reader, int64 *offset)
{
	bool		negative;
	int			hours;
	int			minutes = 0;

	*offset = 0;
	if (reader->at == reader->end || ReadChar(reader, "Zz"))
		return true;
	negative = *reader->at == '-';
	if (!ReadChar(reader, "+-") || !ReadDigits(reader, 2, 2, &hours, NULL))
		return false;
	if (reader->at < reader->end)
	{
		ReadChar(reader, ":");
		if (!ReadDigits(reader, 2, 2, &minutes, NULL))
			return false;
	}
	if (hours > 14 || minutes > 59)
		return false;
	*offset = (hours * 60 + minutes) * USECS_PER_MINUTE * (negative ? -1 : 1);
	return true;
}

/* Returns a reader at the start of a string. */
static Reader
ReaderOf(const char *string, int len)
{
	Reader		reader;

	reader.at = string;
	reader.end = string + len;
	return reader;
}

/* Read a date. */
bool
DateParse(const char *string, int len, DateADT *date)
{
	Reader		reader = ReaderOf(string, len);

	return ReadDate(&reader, date) && reader.at == reader.end;
}

/* Read a time of day without its fraction; the only time zone that it may have is UTC. */
bool
TimeParse(const char *string, int len, TimeADT *time)
{
	Reader		reader = ReaderOf(string, len);
	int64		offset;

	if (!ReadTime(&reader, time) || !ReadZone(&reader, &offset) || offset != 0 || reader.at != reader.end)
		return false;
	*time -= *time % USECS_PER_SEC;
	return true;
}

/* Read a date and a time.  Without a zone it is UTC, without a time midnight. */
bool
DateTimeParseInstant(const char *string, int len, TimestampTz *instant)
{
	Reader		reader = ReaderOf(string, len);
	DateADT		date;
	TimeADT		time = 0;
	int64		offset = 0;
	int			year;
	int			month;
	int			day;

	SkipBlanks(&reader);
	if (!ReadDate(&reader, &date))
		return false;
	if (ReadChar(&reader, "Tt "))
	{
		SkipBlanks(&reader);
		if (reader.at < reader.end)
		{
			if (!ReadTime(&reader, &time))
				return false;
			SkipBlanks(&reader);
			if (!ReadZone(&reader, &offset))
				return false;
		}
	}
	SkipBlanks(&reader);
	if (reader.at != reader.end)
		return false;
	*instant = date * USECS_PER_DAY + time - offset;
	j2date((int) (*instant / USECS_PER_DAY - (*instant % USECS_PER_DAY < 0)) +
		   POSTGRES_EPOCH_JDATE, &year, &month, &day);
	return year >= 1 && year <= 9999;
}

/* Read a date and a time like DateTimeParseInstant(), without fractions of seconds. */
bool
DateTimeParse(const char *string, int len, TimestampTz *instant)
{
	if (!DateTimeParseInstant(string, len, instant))
		return false;
	*instant -= (*instant % USECS_PER_SEC + USECS_PER_SEC) % USECS_PER_SEC;
	return true;
}

/* Write a number with at least two digits; returns the end. */
static char *
WriteTwoDigits(char *to, int number)
{
	if (number < 0 || number > 99)
		return pg_ultostr_zeropad(to, (uint32) number, 2);
	*to++ = '0' + number / 10;
	*to++ = '0' + number % 10;
	return to;
}

/* Write a date as 2025-01-31; returns the end, where a zero byte is put. */
char *
DateWrite(char *to, DateADT date)
{
	int			year;
	int			month;
	int			day;

	j2date(date + POSTGRES_EPOCH_JDATE, &year, &month, &day);

	/* Only plain SQL can have stored a year before Christ. */
	if (year < 0)
		return to + sprintf(to, "%04d-%02d-%02d", year, month, day);
	to = pg_ultostr_zeropad(to, (uint32) year, 4);
	*to++ = '-';
	to = WriteTwoDigits(to, month);
	*to++ = '-';
	to = WriteTwoDigits(to, day);
	*to = '\0';
	return to;
}

/* Write a time as 07:45:00; returns the end, where a zero byte is put. */
char *
TimeWrite(char *to, TimeADT time)
{
	int			seconds = (int) (time / USECS_PER_SEC);

	to = WriteTwoDigits(to, seconds / 3600);
	*to++ = ':';
	to = WriteTwoDigits(to, seconds / 60 % 60);
	*to++ = ':';
	to = WriteTwoDigits(to, seconds % 60);
	*to = '\0';
	return to;
}

/* Write a point in time as 2025-01-31T07:45:00Z; returns the end, where a zero byte is put. */
char *
DateTimeWrite(char *to, TimestampTz instant)
{
	int64		day = instant / USECS_PER_DAY;
	int64		rest = instant % USECS_PER_DAY;

	if (rest < 0)
	{
		day--;
		rest += USECS_PER_DAY;
	}
	to = DateWrite(to, (DateADT) day);
	*to++ = 'T';
	to = TimeWrite(to, rest);
	*to++ = 'Z';
	*to = '\0';
	return to;
}

/* Returns a date as 2025-01-31. */
char *
DateText(DateADT date)
{
	char		buffer[DATETIME_SIZE];

	return pnstrdup(buffer, DateWrite(buffer, date) - buffer);
}

/* Returns a time as 07:45:00. */
char *
TimeText(TimeADT time)
{
	char		buffer[DATETIME_SIZE];

	return pnstrdup(buffer, TimeWrite(buffer, time) - buffer);
}

/* Returns a point in time as 2025-01-31T07:45:00Z. */
char *
DateTimeText(TimestampTz instant)
{
	char		buffer[DATETIME_SIZE];

	return pnstrdup(buffer, DateTimeWrite(buffer, instant) - buffer);
}

/* Returns a point in time as 2025-01-31T07:45:00.000000Z. */
char *
DateTimeInstantText(TimestampTz instant)
{
	char		buffer[DATETIME_SIZE];
	int			microseconds = (int) ((instant % USECS_PER_SEC + USECS_PER_SEC) % USECS_PER_SEC);
	char	   *end = DateTimeWrite(buffer, instant);

	return psprintf("%.*s.%06dZ", (int) (end - buffer) - 1, buffer, microseconds);
}

/* Returns a point in time with milliseconds, as 2025-01-31T07:45:00.123Z. */
char *
DateTimeMillisText(TimestampTz instant)
{
	int64		micros = instant % USECS_PER_SEC;
	char	   *buffer;

	if (micros < 0)
		micros += USECS_PER_SEC;
	buffer = DateTimeText(instant - micros);

	return psprintf("%.*s.%03dZ", (int) strlen(buffer) - 1, buffer, (int) (micros / 1000));
}
