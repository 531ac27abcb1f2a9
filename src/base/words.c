/*
 * words.c
 *		Words in lists of words.
 */
#include "postgres.h"

#include "base/words.h"

/* Returns the position of a word in a list, which may have gaps (NULL), or -1. */
int
WordFind(const char *const *words, int n, const char *word)
{
	for (int i = 0; i < n; i++)
		if (words[i] != NULL && strcmp(words[i], word) == 0)
			return i;
	return -1;
}
