/**
 * Returns the kind of an attachment whose file was uploaded with this MIME type
 * (docs/contract.md#attachments).
 */
export function kindOfUpload(contentType: string): 'file' | 'image' {
  return /^image\//i.test(contentType) ? 'image' : 'file';
}
