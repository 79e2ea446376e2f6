import { Json } from '@parley/ui/data/json.tsx';
import { labelOf } from '@parley/ui/form/labels.ts';
import { Markdown } from '@parley/ui/text/markdown.tsx';
import { hasLongNumber, splitArguments } from './split-arguments.ts';

export interface ArgumentsProps {
  readonly value: unknown;
  /** The tool that is called with them. */
  readonly tool: string;
}

/**
 * The arguments of a call: texts of several lines as they will be read, the rest as JSON. The exact
 * JSON of all stands behind a click.
 */
export function Arguments({ value, tool }: ArgumentsProps) {
  const { texts, rest } = splitArguments(value);
  return (
    <>
      {texts.length > 0 && (
        <dl class="arguments" tabIndex={0} aria-label={`Texts for ${tool}`}>
          {texts.map(({ name, text }, index) => (
            <div key={index}>
              <dt>{labelOf(name)}</dt>
              <dd>
                <Markdown text={text} />
              </dd>
            </div>
          ))}
        </dl>
      )}
      {rest !== undefined && <Json value={rest} label={`Arguments of ${tool}`} />}
      {hasLongNumber(value) && (
        <p class="run-problem">
          A number has more digits than a page can show: its last ones may differ. The API has all of them.
        </p>
      )}
      {texts.length > 0 && (
        <details class="arguments-exact">
          <summary>Exactly, as JSON</summary>
          <Json value={value} label={`Exact arguments of ${tool}`} />
        </details>
      )}
    </>
  );
}
