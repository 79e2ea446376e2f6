/**
 * The pictures in the HTML of a mail, as the server names them (docs/contract.md#html-of-a-mail).
 */

/** Returns whether the HTML has pictures of other hosts. */
export function hasRemotePictures(html: string): boolean {
  return REMOTE.test(html);
}

/**
 * Returns the HTML with the addresses of pictures that are attachments, and where `isLoading` with
 * those of other hosts. Values have no quotes and texts no angle brackets, so nothing but tags
 * match.
 */
export function withPictures(html: string, files: readonly (string | null)[], isLoading: boolean): string {
  const own = html.replace(ATTACHED, (tag, before: string, place: string) => {
    const address = files[Number(place)];
    return address ? `${before} src="${address.replaceAll('&', '&amp;').replaceAll('"', '&quot;')}"` : tag;
  });
  return isLoading ? own.replaceAll(new RegExp(REMOTE, 'g'), '$1 src=') : own;
}

const REMOTE = /(<img\b[^<>]*) data-remote-src=/;
const ATTACHED = /(<img\b[^<>]*) data-attachment="(\d+)"/g;
