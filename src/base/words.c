/*
 * words.c
 *		Words in lists of words.
 */
#include "postgres.h"

#include "base/words.h"

/* The position of a word in a list, which may have gaps (NULL); -1 if it is not there. */
int
WordFind(const char *const *words, int n, const char *word)
{
	for (int i = 0; i < n; i++)
		if (words[i] != NULL && strcmp(words[i], word) == 0)
			return i;
	return -1;
}
