/* The one function of bcryptprimitives.dll that Rust's standard library takes, for versions of Wine without that library
   (before 9.0): random bytes of RtlGenRandom, which advapi32 exports under this name. */

#include <stddef.h>

__declspec(dllimport) unsigned char __stdcall SystemFunction036(void *buffer, unsigned long length);

__declspec(dllexport) int ProcessPrng(unsigned char *buffer, size_t length)
{
    return SystemFunction036(buffer, (unsigned long)length);
}
