/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Writes tables into a file. */
#ifndef LIBCOLL_SELECT_SAVE_H
#define LIBCOLL_SELECT_SAVE_H

#include "select_file.h"

/**
 * select_file_save() - put tables into a file; they replace tables of the same key
 * @notes: lines of comment, without newline; @nr_notes of them
 *
 * The rest of the file stays as it is. The file is replaced at once: a program that reads it sees
 * the old file or the new file. If the old file cannot be understood, nothing is written. Return:
 * 0; -EFBIG if the new file would have more than SELECT_FILE_SETS sets, or more than
 * SELECT_FILE_MAX bytes; -errno.
 */
int select_file_save(const char *path, const struct select_key *key,
		     const struct select_tables *tables, const char *const *notes,
		     uint32_t nr_notes);

#endif
