import { CLUSTER_VARIABLES } from "../engine/pool/cluster-secrets.ts";

/**
 * The variables of the service's environment that a child process gets: those that find programs, folders and certificates, and the
 * credentials of Azure storage and of a cluster, if there are any. It gets neither the database's URL nor any key of the service.
 */
export function childEnvironment(
  env: Readonly<Record<string, string | undefined>>,
  { azure, cluster = false }: { readonly azure: boolean; readonly cluster?: boolean },
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) => {
      const isCredential = (azure && AZURE.test(name)) || (cluster && CLUSTER_VARIABLES.test(name));
      const passed = PASSED_ON.test(name) || isCredential;
      return passed && value !== undefined ? [[name, value]] : [];
    }),
  );
}

const PASSED_ON =
  /^(PATH|HOME|USER|TMPDIR|TZ|LANG|LC_\w+|LD_LIBRARY_PATH|LD_PRELOAD|DYLD_\w+|XDG_CACHE_HOME|PYENV_\w+|MUCAST_PYTHON|NODE_EXTRA_CA_CERTS|NODE_COMPILE_CACHE|SSL_CERT_FILE|SSL_CERT_DIR)$/;

/** Read by DefaultAzureCredential and the storage clients. */
const AZURE =
  /^(AZURE_\w+|IDENTITY_(ENDPOINT|HEADER|SERVER_THUMBPRINT)|IMDS_ENDPOINT|MSI_(ENDPOINT|SECRET))$/;
