/*
 * Preloaded into a service: its wall clock is off by the nanoseconds in the file CLOCK_OFFSET, which may change while it runs; and what it
 * has flushed of the files in the folder DISK_OF is kept in the folder DISK, so that a loss of power can be played: by file its contents at
 * its last fsync (`i<inode>`), and the names in the folder at the folder's last fsync (`names`).
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static int64_t offset(void) {
  static volatile int64_t *shared;
  static int tried;
  if (!tried) {
    const char *path = getenv("CLOCK_OFFSET");
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *map = fd < 0 ? MAP_FAILED : mmap(NULL, 8, PROT_READ, MAP_SHARED, fd, 0);
    if (map != MAP_FAILED) shared = map;
    if (fd >= 0) close(fd);
    tried = 1;
  }
  return shared ? *shared : 0;
}

int clock_gettime(clockid_t clock, struct timespec *to) {
  static int (*real)(clockid_t, struct timespec *);
  if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
  int failed = real(clock, to);
  if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
    int64_t all = to->tv_sec * INT64_C(1000000000) + to->tv_nsec + offset();
    to->tv_sec = all / 1000000000;
    to->tv_nsec = all % 1000000000;
  }
  return failed;
}

int gettimeofday(struct timeval *to, void *zone) {
  (void)zone;
  struct timespec now;
  int failed = clock_gettime(CLOCK_REALTIME, &now);
  to->tv_sec = now.tv_sec;
  to->tv_usec = now.tv_nsec / 1000;
  return failed;
}

time_t time(time_t *to) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (to) *to = now.tv_sec;
  return now.tv_sec;
}

/* Writes a file of DISK, which is complete under its name or not there. One process at a time, so that none puts older contents last. */
static void keep(const char *name, int (*write_to)(int to, void *of), void *of) {
  int disk = open(getenv("DISK"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  int lock = openat(disk, "lock", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (lock >= 0 && flock(lock, LOCK_EX) == 0) {
    int to = openat(disk, "part", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (to >= 0 && write_to(to, of) == 0) renameat(disk, "part", disk, name);
    close(to);
  }
  close(lock);
  close(disk);
}

static int write_contents(int to, void *of) {
  char block[1 << 13];
  int from = *(int *)of;
  off_t at = 0;
  ssize_t n;
  while ((n = pread(from, block, sizeof block, at)) > 0) {
    if (write(to, block, n) != n) return -1;
    at += n;
  }
  return n < 0;
}

static int write_names(int to, void *of) {
  DIR *folder = opendir(of);
  if (!folder) return -1;
  struct dirent *entry;
  while ((entry = readdir(folder)))
    if (entry->d_type == DT_REG) dprintf(to, "%lu %s\n", (unsigned long)entry->d_ino, entry->d_name);
  closedir(folder);
  return 0;
}

static void flushed(int fd) {
  const char *watched = getenv("DISK_OF");
  if (!watched || !getenv("DISK")) return;
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t n = readlink(link, path, sizeof path - 1);
  if (n < 0) return;
  path[n] = 0;
  size_t length = strlen(watched);
  if (strcmp(path, watched) == 0) {
    keep("names", write_names, path);
    return;
  }
  if (strncmp(path, watched, length) != 0 || path[length] != '/' || strchr(path + length + 1, '/')) return;
  struct stat of;
  if (fstat(fd, &of) != 0) return;
  char name[64];
  snprintf(name, sizeof name, "i%lu", (unsigned long)of.st_ino);
  /* A descriptor may be open for writing alone. */
  int from = open(path, O_RDONLY | O_CLOEXEC);
  if (from < 0) return;
  keep(name, write_contents, &from);
  close(from);
}

int fsync(int fd) {
  static int (*real)(int);
  if (!real) real = dlsym(RTLD_NEXT, "fsync");
  int failed = real(fd);
  if (!failed) flushed(fd);
  return failed;
}

int fdatasync(int fd) {
  static int (*real)(int);
  if (!real) real = dlsym(RTLD_NEXT, "fdatasync");
  int failed = real(fd);
  if (!failed) flushed(fd);
  return failed;
}
