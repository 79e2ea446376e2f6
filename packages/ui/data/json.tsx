import { jsonText } from './json-text.ts';

export interface JsonProps {
  readonly value: unknown;
  /** The label for screen readers. */
  readonly label: string;
}

/** Shows a JSON value exactly, with its structure by indentation. */
export function Json({ value, label }: JsonProps) {
  return (
    <section class="json" aria-label={label}>
      <pre tabIndex={0}>{jsonText(value)}</pre>
    </section>
  );
}
