/* The first process of a hosted Linux: opening /dev/hosted runs the application until the simulator ends; then it powers
 * off. Without a C library: the header is the kernel's own (tools/include/nolibc). */
int main(void)
{
	open("/dev/hosted", 0);
	reboot(LINUX_REBOOT_CMD_POWER_OFF);
	return 1;
}
