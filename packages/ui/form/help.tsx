export interface HelpProps {
  readonly id?: string;
  readonly text: string;
}

/** The description of a field, with its names in code. */
export function Help({ id, text }: HelpProps) {
  return (
    <p id={id} class="field-help">
      {text.split('`').map((part, index) => (index % 2 === 0 ? part : <code key={index}>{part}</code>))}
    </p>
  );
}
