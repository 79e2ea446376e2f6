import { uiTexts } from '../texts/ui-texts.ts';
import { itemsOf } from './draft.ts';
import { FieldSet } from './field-frame.tsx';
import type { FieldProps } from './field-props.ts';
import { sentenceOf } from './labels.ts';

export type OptionsFieldProps = FieldProps & { readonly options: readonly string[] };

/** Any of some options. A grid if all of them are named as `area:action`. */
export function OptionsField(props: OptionsFieldProps) {
  const { options, label, shape, draft, path, onDraft } = props;
  const chosen = new Set(itemsOf(draft).map(String));
  const toggle = (option: string, isChosen: boolean) => {
    if (isChosen) chosen.add(option);
    else chosen.delete(option);
    onDraft(
      options.filter((one) => chosen.has(one)),
      path,
    );
  };
  const isGrid = options.length > 0 && options.every((option) => /^\w+:\w+$/.test(option));
  return (
    <FieldSet path={path} label={label} help={shape.help}>
      {isGrid ? (
        <OptionGrid label={label} options={options} chosen={chosen} toggle={toggle} />
      ) : (
        <div class="field-options">
          {options.map((option) => (
            <label key={option} class="field-line">
              <input
                type="checkbox"
                checked={chosen.has(option)}
                onChange={({ currentTarget }) => toggle(option, currentTarget.checked)}
              />
              {/[A-Z0-9]/.test(option) ? option : sentenceOf(option)}
            </label>
          ))}
        </div>
      )}
    </FieldSet>
  );
}

export interface OptionGridProps {
  readonly label: string;
  readonly options: readonly string[];
  readonly chosen: ReadonlySet<string>;
  /** Absent for options that are shown and cannot be changed. */
  readonly toggle?: (option: string, isChosen: boolean) => void;
}

/** Options that are named as `area:action`: a row for each area, a column for each action. */
export function OptionGrid({ label, options, chosen, toggle }: OptionGridProps) {
  const pairs = options.map((option) => option.split(':') as [string, string]);
  const areas = [...new Set(pairs.map(([area]) => area))];
  const actions = pairs.map(([, action]) => action);
  // Actions of many areas have a column each; other actions share the last one.
  const columns = [...new Set(actions)].filter((one) => actions.indexOf(one) !== actions.lastIndexOf(one));
  const others = pairs.filter(([, action]) => !columns.includes(action));
  const cell = (area: string, action: string) => {
    const option = `${area}:${action}`;
    if (!options.includes(option)) return null;
    const name = `${sentenceOf(area)}: ${sentenceOf(action)}`;
    const isChosen = chosen.has(option);
    const Line = toggle === undefined ? 'span' : 'label';
    return (
      <Line key={action} class="field-line">
        {toggle !== undefined ? (
          <input
            type="checkbox"
            aria-label={name}
            checked={isChosen}
            onChange={({ currentTarget }) => toggle(option, currentTarget.checked)}
          />
        ) : isChosen ? (
          <span role="img" aria-label={uiTexts.form.isChosen(name)}>
            ✓
          </span>
        ) : (
          '–'
        )}
        <span aria-hidden="true">{sentenceOf(action)}</span>
      </Line>
    );
  };
  return (
    <section class="table-frame" aria-label={label} tabIndex={0}>
      <table class="table option-grid">
        <thead>
          <tr>
            <th scope="col">{uiTexts.form.area}</th>
            {columns.map((action) => (
              <th key={action} scope="col">
                {sentenceOf(action)}
              </th>
            ))}
            {others.length > 0 && <th scope="col">{uiTexts.form.more}</th>}
          </tr>
        </thead>
        <tbody>
          {areas.map((area) => (
            <tr key={area}>
              <th scope="row">{sentenceOf(area)}</th>
              {columns.map((action) => (
                <td key={action}>{cell(area, action)}</td>
              ))}
              {others.length > 0 && (
                <td class="option-grid-more">
                  {others.filter(([of]) => of === area).map(([, action]) => cell(area, action))}
                </td>
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
