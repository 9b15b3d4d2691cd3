/** The bucket and the folder in it, without a final slash; empty for the bucket itself. */
export interface S3Place {
  readonly bucket: string;
  readonly folder: string;
}

const S3_URL =
  /^s3:\/\/([a-z0-9](?:[a-z0-9-]|\.(?!\.)){1,61}[a-z0-9])((?:\/[A-Za-z0-9$_~-][A-Za-z0-9._~$-]*)*)$/;

/** True for a text that is meant as an s3: URL. */
export function isS3Url(text: string): boolean {
  return /^s3:/i.test(text.trim());
}

/** What is unusual about an s3: URL; undefined if it is plain. */
export function s3UrlFault(text: string): string | undefined {
  if (S3_URL.test(text)) return undefined;
  return "is not of the form s3://bucket/folder, with the lower-case name of a bucket and plain folders";
}

/** @param url one without a fault. */
export function s3PlaceOf(url: string): S3Place {
  const [, bucket, folder] = S3_URL.exec(url)!;
  return { bucket: bucket!, folder: folder!.slice(1) };
}
