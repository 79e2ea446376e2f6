import { type ReactElement, useRef } from 'react';
import { type ChosenFile, type ComposerOptions, type ComposerState, useComposer } from '../headless/index.ts';
import { Avatar } from './avatar.tsx';
import { type PartProps, type Words, wordsOf } from './words.ts';

/** The properties of a composer. */
export interface ComposerProps extends PartProps, ComposerOptions {
  /** The conversation that is written into. */
  readonly conversationId: string;
}

/** A field for a message, with mentions and files, or for the edit of one. */
export function Composer(props: ComposerProps): ReactElement {
  const { conversationId, words: given, ...options } = props;
  const composer = useComposer(conversationId, options);
  const { field, drop, isDropping, canSend, send, cancel, error, files, addFiles } = composer;
  const words = wordsOf(given);
  const chooser = useRef<HTMLInputElement>(null);
  const isEditing = options.editing != null;
  return (
    <form
      className="parley-composer"
      data-dropping={isDropping}
      {...drop}
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      {isDropping && <p className="parley-drop">{words.dropFiles}</p>}
      {isEditing && (
        <p className="parley-editing">
          {words.editing}{' '}
          <button type="button" onClick={cancel}>
            {words.cancel}
          </button>
        </p>
      )}
      {error !== null && (
        <p className="parley-failed" role="alert">
          {error.message}
        </p>
      )}
      <Suggestions composer={composer} words={words} />
      {files.length > 0 && (
        <ul className="parley-files" aria-label={words.files}>
          {files.map((file) => (
            <ChosenFileLine key={file.key} file={file} composer={composer} words={words} />
          ))}
        </ul>
      )}
      <div className="parley-composer-row">
        {!isEditing && (
          <>
            <input
              ref={chooser}
              className="parley-unseen"
              type="file"
              multiple
              tabIndex={-1}
              aria-label={words.files}
              onChange={({ currentTarget }) => {
                addFiles(currentTarget.files ?? []);
                currentTarget.value = '';
              }}
            />
            <button
              type="button"
              className="parley-attach"
              aria-label={words.attach}
              onClick={() => chooser.current?.click()}
            >
              +
            </button>
          </>
        )}
        <textarea
          {...field}
          className="parley-field"
          rows={1}
          dir="auto"
          aria-label={words.message}
          placeholder={words.writeMessage}
        />
        <button type="submit" className="parley-send" disabled={!canSend}>
          {isEditing ? words.save : words.send}
        </button>
      </div>
    </form>
  );
}

interface SuggestionsProps {
  readonly composer: ComposerState;
  readonly words: Words;
}

function Suggestions({ composer, words }: SuggestionsProps) {
  const { suggestions, active, listId, optionId, choose } = composer;
  if (suggestions.length === 0) return null;
  return (
    <div className="parley-suggestions" role="listbox" id={listId} aria-label={words.people}>
      {suggestions.map((one, index) => (
        <div
          key={one.id}
          id={optionId(index)}
          className="parley-suggestion"
          role="option"
          tabIndex={-1}
          aria-selected={index === active}
          // The field keeps the focus.
          onMouseDown={(event) => {
            event.preventDefault();
            choose(one);
          }}
        >
          <Avatar name={one.name} url={one.avatarUrl} />
          <span dir="auto">{one.name}</span> <small>{one.detail}</small>
        </div>
      ))}
    </div>
  );
}

interface ChosenFileProps {
  readonly file: ChosenFile;
  readonly composer: ComposerState;
  readonly words: Words;
}

function ChosenFileLine({ file: chosen, composer, words }: ChosenFileProps) {
  const { key, file, previewUrl, progress, attachment, problem } = chosen;
  return (
    <li className="parley-file">
      {previewUrl !== null && <img src={previewUrl} alt="" />}
      <bdi>{file.name}</bdi>
      {attachment === undefined && problem === undefined && (
        <progress value={progress} aria-label={words.uploaded(Math.round(progress * 100))} />
      )}
      {problem !== undefined && (
        <span className="parley-failed" role="alert">
          {problem}{' '}
          <button type="button" onClick={() => composer.retryFile(key)}>
            {words.retry}
          </button>
        </span>
      )}
      <button type="button" aria-label={words.removeFile(file.name)} onClick={() => composer.removeFile(key)}>
        ×
      </button>
    </li>
  );
}
