/**
 * Returns a name of a file or an address as it may be shown: without characters of no width, and
 * without marks that reverse the order of text. Such a mark makes `exe.gpj` look like `jpg.exe`. A
 * download has the same name (core/attachments/download-name.ts).
 */
export function shownName(name: string): string {
  return name.replace(DISGUISES, '_');
}

/**
 * Returns an address as it may be shown: also without a user name and password, which look like the
 * host (`https://bank.example@other.example/`) or are a secret. The browser's reading decides which
 * part they are. It takes `\` for a slash: `https://other.example\@bank.example/` has none.
 */
export function shownAddress(address: string): string {
  if (!/[@\\]/.test(address) || !URL.canParse(address)) return shownName(address);
  const url = new URL(address);
  if (url.username === '' && url.password === '' && !address.includes('\\')) return shownName(address);
  url.username = '';
  url.password = '';
  return shownName(url.href);
}

const DISGUISES =
  /[\p{Cc}\p{Zl}\p{Zp}\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]/gu;
