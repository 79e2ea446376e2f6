/** Returns the function of a component that keeps its last selection while that has equal parts. */
export function selection<T>(): (next: T) => T {
  let last: { readonly value: T } | undefined;
  return (next) => {
    if (last === undefined || !hasEqualParts(last.value, next)) last = { value: next };
    return last.value;
  };
}

/** Parts of live objects are the same references until they change. */
function hasEqualParts(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (!isPlain(a) || !isPlain(b)) return false;
  const keys = Object.keys({ ...a, ...b });
  return keys.every((key) => key in a && key in b && Object.is(a[key], b[key]));
}

function isPlain(value: unknown): value is Readonly<Record<string, unknown>> {
  return (
    Array.isArray(value) ||
    (typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype)
  );
}
