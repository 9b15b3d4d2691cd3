import { CLUSTER_VARIABLES } from "../engine/pool/cluster-secrets.ts";

/**
 * The variables of the service's environment that a child process gets: those that find programs, folders and certificates, and the
 * credentials of Azure, of S3 and of a cluster, if it needs them. It gets neither the database's URL nor any key of the service.
 */
export function childEnvironment(
  env: Readonly<Record<string, string | undefined>>,
  { azure = false, s3 = false, cluster = false }: Needed,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) => {
      const isCredential =
        (azure && AZURE.test(name)) || (s3 && S3.test(name)) || (cluster && CLUSTER_VARIABLES.test(name));
      const passed = PASSED_ON.test(name) || isCredential;
      return passed && value !== undefined ? [[name, value]] : [];
    }),
  );
}

interface Needed {
  readonly azure?: boolean;
  readonly s3?: boolean;
  readonly cluster?: boolean;
}

const PASSED_ON =
  /^(PATH|HOME|USER|TMPDIR|TZ|LANG|LC_\w+|LD_LIBRARY_PATH|LD_PRELOAD|DYLD_\w+|XDG_CACHE_HOME|PYENV_\w+|MUCAST_PYTHON|NODE_EXTRA_CA_CERTS|NODE_COMPILE_CACHE|SSL_CERT_FILE|SSL_CERT_DIR)$/;

/** Read by DefaultAzureCredential and the storage clients. */
const AZURE =
  /^(AZURE_\w+|IDENTITY_(ENDPOINT|HEADER|SERVER_THUMBPRINT)|IMDS_ENDPOINT|MSI_(ENDPOINT|SECRET))$/;

/** Read by the AWS SDK, and by our client of S3. */
const S3 = /^(AWS_\w+|MUCAST_S3_PATH_STYLE)$/;
