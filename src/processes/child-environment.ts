import { CLUSTER_VARIABLES } from "../engine/pool/cluster-secrets.ts";

/**
 * The variables of the service's environment that a child process gets: those that find programs, folders and certificates, and the
 * credentials of Azure, of S3 and of a cluster, if it needs them. It gets neither the database's URL nor any key of the service.
 */
export function childEnvironment(
  env: Readonly<Record<string, string | undefined>>,
  needs: Readonly<Partial<Record<keyof typeof CREDENTIALS, boolean>>>,
): Record<string, string> {
  const credentials = Object.entries(CREDENTIALS).flatMap(([storage, names]) =>
    needs[storage as keyof typeof CREDENTIALS] ? [names] : [],
  );
  const passed = [PASSED_ON, ...credentials];
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) =>
      value !== undefined && passed.some((names) => names.test(name)) ? [[name, value]] : [],
    ),
  );
}

const PASSED_ON =
  /^(PATH|HOME|USER|TMPDIR|TZ|LANG|LC_\w+|LD_LIBRARY_PATH|LD_PRELOAD|DYLD_\w+|XDG_CACHE_HOME|PYENV_\w+|MUCAST_PYTHON|NODE_EXTRA_CA_CERTS|NODE_COMPILE_CACHE|SSL_CERT_FILE|SSL_CERT_DIR)$/;

/** What DefaultAzureCredential and the storage clients, the AWS SDK and our client of S3, and Ray read. */
const CREDENTIALS = {
  azure: /^(AZURE_\w+|IDENTITY_(ENDPOINT|HEADER|SERVER_THUMBPRINT)|IMDS_ENDPOINT|MSI_(ENDPOINT|SECRET))$/,
  s3: /^(AWS_\w+|MUCAST_S3_PATH_STYLE)$/,
  cluster: CLUSTER_VARIABLES,
};

/** The folder for temporary files of a process with this environment, as `os.tmpdir` finds it. */
export function temporaryOf({ TMPDIR }: Readonly<Record<string, string>>): string {
  return TMPDIR || "/tmp";
}
