/*
 * words.h
 *		Words in lists of words.
 */
#ifndef DMS_WORDS_H
#define DMS_WORDS_H

#include "postgres.h"

extern int	WordFind(const char *const *words, int n, const char *word);

#endif							/* DMS_WORDS_H */
