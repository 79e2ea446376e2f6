/** The bucket of files, as it is configured; null without one. */
type Bucket = {
  readonly endpoint: string | null;
  readonly bucket: string;
  readonly region: string;
} | null;

/** Returns the host of a bucket, which pages of this server read from and write to. */
export function filesOrigin(bucket: Bucket): string | undefined {
  if (bucket === null) return undefined;
  if (bucket.endpoint !== null) return new URL(bucket.endpoint).origin;
  return `https://${bucket.bucket}.s3.${bucket.region}.amazonaws.com`;
}
