/*
 * textdiff.c
 *		The lines in which two texts differ, as a unified diff without file names.
 *
 * The algorithm is that of Myers, "An O(ND) Difference Algorithm and Its Variations"
 * (1986), in its greedy form.  A path through the grid of both texts goes right for a
 * deleted line, down for an inserted one, and diagonally, at no cost, along equal
 * ones.  For d = 0, 1, 2, ... edits, the furthest end of a path on each diagonal is
 * found.  The ends of all rounds are kept, and lead back from the corner to the edits.
 *
 * Texts that differ in more than MAX_EDITS lines have no diff: it would be long, of no
 * use to a reader, and take time and memory that grow with the square.  All steps are
 * also counted against a budget, because a hostile text can make each round walk along
 * all lines again.  Texts of very many lines have no diff either, because a line needs
 * far more memory than a newline does.  All limits are counts, so that the result is the
 * same everywhere.
 */
#include "postgres.h"

#include "base/textdiff.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#define MAX_EDITS 2000
#define MAX_LINES 1000000		/* of both texts together */
#define CONTEXT 3				/* equal lines around edits */

typedef struct Line
{
	const char *start;
	int			length;			/* with the newline, if it has one */
	int			id;				/* equal lines have the same */
} Line;

/* A text, and which of its lines are not in the other one. */
typedef struct Side
{
	Line	   *lines;
	int			n;
	bool	   *edited;
} Side;

/* A distinct line, in a hash table. */
typedef struct DistinctLine
{
	const Line *line;			/* the key */
	uint32		hash;
	char		status;
} DistinctLine;

#define SH_PREFIX lines
#define SH_ELEMENT_TYPE DistinctLine
#define SH_KEY_TYPE const Line *
#define SH_KEY line
#define SH_HASH_KEY(tb, key) (uint32) hash_bytes_extended((const unsigned char *) (key)->start, (key)->length, \
														  *(const uint64 *) (tb)->private_data)
#define SH_EQUAL(tb, a, b) ((a)->length == (b)->length && memcmp((a)->start, (b)->start, (a)->length) == 0)
#define SH_STORE_HASH
#define SH_GET_HASH(tb, a) (a)->hash
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

/* The search for the shortest way from one text to the other. */
typedef struct Search
{
	const Line *a;				/* without equal lines at both ends */
	int			na;
	const Line *b;
	int			nb;
	int		   *ends;			/* of the paths of all rounds; round d has d +
								 * 1 */
	int			rounds;
	int64	   *work;			/* steps that are left */
} Search;

/* Split a text into lines; returns false if there are more than the limit. */
static bool
Split(Side *side, const char *start, int length, int most)
{
	const char *end = start + length;
	int			capacity = 16;

	side->n = 0;
	side->lines = palloc(sizeof(Line) * capacity);
	while (start < end)
	{
		const char *newline = memchr(start, '\n', end - start);
		const char *next = newline != NULL ? newline + 1 : end;

		CHECK_FOR_INTERRUPTS();
		if (side->n == most)
			return false;
		if (side->n == capacity)
		{
			capacity *= 2;
			side->lines = repalloc(side->lines, sizeof(Line) * capacity);
		}
		side->lines[side->n].start = start;
		side->lines[side->n++].length = next - start;
		start = next;
	}
	side->edited = palloc0(side->n + 1);
	return true;
}

/* Give equal lines of both texts equal ids. */
static void
Number(Side *sides)
{
	uint64		seed;
	lines_hash *table;

	/* Nobody shall be able to choose lines that fall into one place. */
	if (!pg_strong_random(&seed, sizeof(seed)))
		seed = 0;
	table = lines_create(CurrentMemoryContext, Max(sides[0].n, 16), &seed);
	for (int i = 0; i < 2; i++)
		for (int j = 0; j < sides[i].n; j++)
		{
			Line	   *line = &sides[i].lines[j];
			bool		found;
			DistinctLine *entry = lines_insert(table, line, &found);

			CHECK_FOR_INTERRUPTS();
			line->id = found ? entry->line->id : (int) table->members;
		}
	lines_destroy(table);
}

/* Returns the end of the path on a diagonal after a round: how many old lines it has passed. */
static inline int *
EndOf(const Search *search, int round, int diagonal)
{
	/* Rounds before this one have 1 + 2 + ... + round ends. */
	return &search->ends[(Size) round * (round + 1) / 2 + (diagonal + round) / 2];
}

/* Returns true if the best path to a diagonal comes from the one above: a line is inserted. */
static inline bool
ComesFromAbove(const Search *search, int round, int diagonal)
{
	return diagonal == -round ||
		(diagonal != round &&
		 *EndOf(search, round - 1, diagonal - 1) < *EndOf(search, round - 1, diagonal + 1));
}

/*
 * Extend the paths of the round before by one edit, and by the equal lines after it.
 * Returns true if one of them reaches the end of both texts.  Stops if there is no work
 * left.
 */
static bool
RunRound(Search *search, int round)
{
	for (int k = -round; k <= round; k += 2)
	{
		int			x = 0;
		int			y;

		CHECK_FOR_INTERRUPTS();
		if (*search->work <= 0)
			return false;
		if (round > 0)
			x = ComesFromAbove(search, round, k) ? *EndOf(search, round - 1, k + 1) :
				*EndOf(search, round - 1, k - 1) + 1;
		y = x - k;
		*search->work -= 1;
		while (x < search->na && y < search->nb && search->a[x].id == search->b[y].id)
		{
			x++;
			y++;
			*search->work -= 1;
		}
		*EndOf(search, round, k) = x;
		if (x >= search->na && y >= search->nb)
			return true;
	}
	return false;
}

/* Find the shortest way; returns false if it is too long, or takes too much work. */
static bool
FindWay(Search *search)
{
	int			most = Min(MAX_EDITS, (int64) search->na + search->nb);
	int			capacity = 0;

	search->ends = NULL;
	for (int round = 0; round <= most; round++)
	{
		if (round >= capacity)
		{
			Size		size;

			capacity = Min(Max(capacity * 2, 16), most + 1);
			size = sizeof(int) * ((Size) capacity * (capacity + 1) / 2);
			search->ends = search->ends == NULL ? palloc(size) : repalloc(search->ends, size);
		}
		search->rounds = round;
		if (RunRound(search, round))
			return true;
		if (*search->work <= 0)
			return false;
	}
	return false;
}

/*
 * Mark the lines that are deleted and inserted on the way that was found, from its end
 * to its beginning.  Paths may run past the end of a text, but not the one that counts.
 */
static void
MarkEdits(const Search *search, bool *deleted, bool *inserted)
{
	int			k = search->na - search->nb;

	for (int round = search->rounds; round > 0; round--)
	{
		if (ComesFromAbove(search, round, k))
		{
			k++;
			inserted[*EndOf(search, round - 1, k) - k] = true;
		}
		else
		{
			k--;
			deleted[*EndOf(search, round - 1, k)] = true;
		}
	}
}

/* Write a line of a diff. */
static void
WriteLine(StringInfo out, char mark, const Line *line)
{
	appendStringInfoChar(out, mark);
	appendBinaryStringInfo(out, line->start, line->length);
	if (line->start[line->length - 1] != '\n')
		appendStringInfoString(out, "\n\\ No newline at end of file\n");
}

/* Write the numbers of lines of one text in the head of a hunk. */
static void
WriteRange(StringInfo out, char mark, int first, int end)
{
	/* A range without lines is named by the line before it. */
	appendStringInfo(out, "%c%d,%d", mark, end > first ? first + 1 : first, end - first);
}

/* Skip equal lines of both texts, at most so many; returns how many there were. */
static int
SkipEqual(const Side *sides, int *i, int *j, int most)
{
	int			n = 0;

	while (n < most && *i < sides[0].n && *j < sides[1].n && !sides[0].edited[*i] && !sides[1].edited[*j])
	{
		(*i)++;
		(*j)++;
		n++;
	}
	return n;
}

/* Returns true if there are more edits at these places, or after them. */
static inline bool
IsEdited(const Side *sides, int i, int j)
{
	return (i < sides[0].n && sides[0].edited[i]) || (j < sides[1].n && sides[1].edited[j]);
}

/*
 * Find the end of a hunk that begins with an edit: edits, and the equal lines between
 * them unless there are more than twice the context.
 */
static void
EndHunk(const Side *sides, int *i, int *j)
{
	for (;;)
	{
		int			n;

		while (*i < sides[0].n && sides[0].edited[*i])
			(*i)++;
		while (*j < sides[1].n && sides[1].edited[*j])
			(*j)++;
		n = SkipEqual(sides, i, j, 2 * CONTEXT + 1);
		if (n <= 2 * CONTEXT && IsEdited(sides, *i, *j))
			continue;
		n -= Min(n, CONTEXT);
		*i -= n;
		*j -= n;
		return;
	}
}

/* Write the lines of a hunk: at each place, deleted ones before inserted ones. */
static void
WriteHunk(StringInfo out, const Side *sides, int i, int j, int end_i, int end_j)
{
	appendStringInfoString(out, "@@ ");
	WriteRange(out, '-', i, end_i);
	appendStringInfoChar(out, ' ');
	WriteRange(out, '+', j, end_j);
	appendStringInfoString(out, " @@\n");
	while (i < end_i || j < end_j)
	{
		CHECK_FOR_INTERRUPTS();
		if (i < end_i && sides[0].edited[i])
			WriteLine(out, '-', &sides[0].lines[i++]);
		else if (j < end_j && sides[1].edited[j])
			WriteLine(out, '+', &sides[1].lines[j++]);
		else
		{
			WriteLine(out, ' ', &sides[0].lines[i++]);
			j++;
		}
	}
}

/* Write all hunks. */
static void
WriteHunks(StringInfo out, const Side *sides)
{
	int			i = 0;
	int			j = 0;

	for (;;)
	{
		int			context = SkipEqual(sides, &i, &j, PG_INT32_MAX);
		int			end_i = i;
		int			end_j = j;

		if (i >= sides[0].n && j >= sides[1].n)
			return;
		context = Min(context, CONTEXT);
		EndHunk(sides, &end_i, &end_j);
		WriteHunk(out, sides, i - context, j - context, end_i, end_j);
		i = end_i;
		j = end_j;
	}
}

/* Find the edits between two texts; returns false if there are too many. */
static bool
Compare(Side *sides, int64 *work)
{
	int			head = 0;
	int			tail = 0;
	int			most = Min(sides[0].n, sides[1].n);
	Search		search = {.work = work};

	while (head < most && sides[0].lines[head].id == sides[1].lines[head].id)
		head++;
	while (tail < most - head &&
		   sides[0].lines[sides[0].n - 1 - tail].id == sides[1].lines[sides[1].n - 1 - tail].id)
		tail++;
	search.a = sides[0].lines + head;
	search.na = sides[0].n - head - tail;
	search.b = sides[1].lines + head;
	search.nb = sides[1].n - head - tail;
	if (!FindWay(&search))
		return false;
	MarkEdits(&search, sides[0].edited + head, sides[1].edited + head);
	return true;
}

/*
 * Append the unified diff of two texts, whose hunks begin with "@@", without the names
 * of files.  Returns false, and appends nothing, if they differ in too many lines, or if
 * that took more steps than *work, which is reduced by the steps that were needed.
 */
bool
TextDiff(const char *old_text, int old_length, const char *new_text, int new_length, int64 *work,
		 StringInfo out)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "dms text diff", ALLOCSET_DEFAULT_SIZES);
	MemoryContext saved = MemoryContextSwitchTo(context);
	Side		sides[2];
	bool		found = false;

	if (Split(&sides[0], old_text, old_length, MAX_LINES) &&
		Split(&sides[1], new_text, new_length, MAX_LINES - sides[0].n))
	{
		Number(sides);
		found = Compare(sides, work);
	}
	if (found)
		WriteHunks(out, sides);
	MemoryContextSwitchTo(saved);
	MemoryContextDelete(context);
	return found;
}
