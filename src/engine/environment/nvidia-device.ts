import { existsSync } from "node:fs";

/** Files of NVIDIA's driver, of a container that was given a device, and of WSL, which passes on the device of Windows. */
const SIGNS = ["/proc/driver/nvidia/version", "/dev/nvidiactl", "/dev/dxg"];

/** Whether this machine has, or may have, a GPU that PyTorch can use. PyTorch's package has CUDA only on Linux. */
export function mayHaveNvidiaDevice(): boolean {
  return process.platform !== "linux" || SIGNS.some((path) => existsSync(path));
}
