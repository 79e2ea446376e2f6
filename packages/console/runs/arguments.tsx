import { Json } from '@parley/ui/data/json.tsx';
import { labelOf } from '@parley/ui/form/labels.ts';
import { Markdown } from '@parley/ui/text/markdown.tsx';
import { texts } from '../texts/texts.ts';
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
  const { texts: written, rest } = splitArguments(value);
  return (
    <>
      {written.length > 0 && (
        <dl class="arguments" tabIndex={0} aria-label={texts.runs.textsFor(tool)}>
          {written.map(({ name, text }, index) => (
            <div key={index}>
              <dt>{labelOf(name)}</dt>
              <dd>
                <Markdown text={text} />
              </dd>
            </div>
          ))}
        </dl>
      )}
      {rest !== undefined && <Json value={rest} label={texts.runs.argumentsOf(tool)} />}
      {hasLongNumber(value) && <p class="run-problem">{texts.runs.longNumber}</p>}
      {written.length > 0 && (
        <details class="arguments-exact">
          <summary>{texts.runs.exactly}</summary>
          <Json value={value} label={texts.runs.exactArgumentsOf(tool)} />
        </details>
      )}
    </>
  );
}
