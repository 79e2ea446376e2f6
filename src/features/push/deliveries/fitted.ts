/** The texts of a push, of which the body is the first to be cut. */
interface Texts {
  readonly title: string;
  readonly body: string | null;
}

/**
 * Returns what `encode` makes of the payload, with at most `maxBytes`. A text that is too long is
 * cut at its end: the body, and where that is not enough, the title.
 */
export function fitted<Payload extends Texts>(
  payload: Payload,
  encode: (payload: Payload) => Buffer,
  maxBytes: number,
): Buffer {
  return (
    fit(payload, 'body') ??
    fit({ ...payload, body: null }, 'title') ??
    encode({ ...payload, body: null, title: '…' })
  );

  /** Returns as much of the text as fits, or undefined if the rest alone is too long. */
  function fit(of: Payload, field: 'body' | 'title'): Buffer | undefined {
    const whole = encode(of);
    if (whole.length <= maxBytes) return whole;
    const characters = [...(of[field] ?? '')];
    const cut = (length: number) => encode({ ...of, [field]: `${characters.slice(0, length).join('')}…` });
    let [fits, tooLong] = [-1, characters.length];
    while (tooLong - fits > 1) {
      const middle = (fits + tooLong) >>> 1;
      if (cut(middle).length <= maxBytes) fits = middle;
      else tooLong = middle;
    }
    return fits < 0 ? undefined : cut(fits);
  }
}
